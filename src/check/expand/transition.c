// SPDX-License-Identifier: MIT
#include "check/expand/transition.h"

#include <conclave/synchronizer.h>
#include <stdlib.h>

#include "check/expand/renumber.h"

/* ---- one successor ---- */

static void change_budgets(struct expander *expander, struct successor *successor, const struct budgets *budgets)
{
    expander_set_budgets(expander, successor, model_add_budgets(expander->model, budgets));
}

static void stop_clocks(struct expander *expander, struct successor *successor)
{
    const uint32_t now = stopped_clocks(expander);
    if (now && now != expander->stopped_clocks)
        drop_clocks(expander, successor, now);
}

/* Adds the successor that the state was changed into, and restores the state. */
static inline void keep(struct expander *expander, struct successor *successor)
{
    if (__builtin_expect(expander->model->setting.renumbers, 0))
        renumber(expander, successor);
    if (__builtin_expect(expander->model->setting.drops_clocks, 0))
        stop_clocks(expander, successor);
    successor->key = successor->fingerprint;
    if (__builtin_expect(expander->symmetry.count > 1, 0))
        successor->key = symmetry_fingerprint(&expander->symmetry, expander->state, successor->fingerprint);
    struct change *changes = &expander->changes[expander->change_count];
    successor->first = expander->change_count;
    successor->count = expander->touch_count;
    for (uint32_t i = 0; i < expander->touch_count; i++) {
        const uint32_t slot = expander->touched[i];
        changes[i] = (struct change){slot, expander->state[slot]};
        expander->state[slot] = expander->old[i];
    }
    expander->change_count += expander->touch_count;
    expander->touch_count = 0;
    expander->obligations += successor->action != 0;
    expander->count++;
}

/* ---- steps ---- */

static bool are_fences_counted(const struct expander *expander)
{
    return expander->model->setting.claims & CV_FENCES_RISE;
}

static bool nothing_has_failed(const struct expander *expander)
{
    const struct cv_check_options *options = &expander->model->setting.options;
    const struct budgets *budgets = expander_budgets(expander);
    return budgets->crashes == options->crashes && budgets->suspicions == options->suspicions &&
           budgets->cuts == options->cuts;
}

/* Does the node now follow another leader than another node does? */
static bool disagrees(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    const struct node_state *mine = model_node_state(expander->model, outcome->node_state);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const struct node_state *theirs = model_node_state(expander->model, expander->state[other]);
        if (other != node && theirs->flags & mine->flags & NODE_KNOWS && theirs->leader != mine->leader)
            return true;
    }
    return false;
}

/* Is a node inside before the step: another one, or the node itself, which enters twice? */
static bool is_occupied(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    const uint64_t others = expander->own_events & ~((uint64_t)OWN_LEAVE << node * OWN_EVENT_BITS);
    return outcome->detail->twice || others & EVERY_NODES_FIRST_BIT * OWN_LEAVE;
}

/* ---- rounds ---- */

/* The round of a message of the app; UINT64_MAX for the synchronizer's own. */
static uint64_t round_of_message(const struct cv_message *message)
{
    struct cv_envelope envelope;
    if (message->kind || message->words * 4 < sizeof envelope)
        return UINT64_MAX;
    memcpy(&envelope, message->body, sizeof envelope);
    return envelope.round;
}

/* The contents of a channel when the step is taken: without the message that arrives in it. */
static uint32_t contents_at_step(const struct expander *expander, const struct successor *successor, uint32_t slot)
{
    return successor->fast_path && slot == successor->slot ? successor->rest : expander->state[slot];
}

/* Is a message of the app of an earlier round than this one in the channel? */
static bool has_earlier(const struct model *model, uint32_t contents, uint64_t round)
{
    for (const struct contents *list; contents; contents = list->rest) {
        list = model_contents(model, contents);
        if (round_of_message(model_message(model, list->first)) < round)
            return true;
    }
    return false;
}

/* The round of another node; that of a dead node does not count. */
static uint64_t round_of(const struct expander *expander, cv_node node, uint64_t otherwise)
{
    const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
    return node_state->flags & NODE_ALIVE ? node_state_round(&expander->model->setting, node_state) : otherwise;
}

/*
 * Judges the beginning of a round. Messages of an earlier round must not be on their way to this node, and the messages
 * that it sends must not be those of a round that is over at their receivers.
 */
static void judge_round(const struct expander *expander, const struct successor *successor, struct cv_step_facts *facts)
{
    const struct model *model = expander->model;
    const struct cv_group *group = &model->setting.group;
    const struct outcome *outcome = successor->outcome;
    const cv_node node = successor->node;
    const uint64_t round = node_state_round(&model->setting, model_node_state(model, outcome->node_state));
    for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++) {
        const cv_node other = group->neighbours[e];
        const uint64_t theirs = round_of(expander, other, round);
        const uint32_t slot = model->channels[other * model->setting.nodes + node];
        facts->apart |= theirs + 1 < round || theirs > round + 1;
        facts->hasty |= slot && has_earlier(model, contents_at_step(expander, successor, slot), round);
    }
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        const uint64_t sent = round_of_message(model_message(model, outcome->sends[i].message));
        facts->hasty |= sent < round_of(expander, outcome->sends[i].to, sent);
    }
    facts->hasty &= (model->setting.claims & CV_WHOLE_ROUNDS) != 0;
    facts->apart &= (model->setting.claims & CV_CLOSE_ROUNDS) != 0;
}

void transition_judge(const struct expander *expander, struct successor *successor)
{
    const struct outcome *outcome = successor->outcome;
    const cv_node node = successor->node;
    struct cv_step_facts facts = {.broken = (outcome->flags & OUTCOME_BROKEN) != 0,
                                  .entered = (outcome->flags & OUTCOME_ENTERED) != 0,
                                  .recalled = (outcome->flags & OUTCOME_RECALLED) != 0};
    if (facts.entered) {
        facts.others_inside = is_occupied(expander, node, outcome);
        facts.fence_rises =
            !are_fences_counted(expander) || outcome->detail->fence > expander_budgets(expander)->highest_fence;
    }
    if (nothing_has_failed(expander)) {
        facts.misled = (outcome->flags & OUTCOME_MISLED) != 0;
        facts.disagrees = outcome->flags & OUTCOME_FOLLOWS && disagrees(expander, node, outcome);
    }
    if (outcome->flags & OUTCOME_PULSED)
        judge_round(expander, successor, &facts);
    successor->visible = outcome->flags & (OUTCOME_ENTERED | OUTCOME_LEFT | OUTCOME_FOLLOWS);
    successor->violations = cv_judge_step(&facts);
}

uint32_t transition_budgets(struct expander *expander, const struct successor *successor)
{
    const struct outcome *outcome = successor->outcome;
    const uint32_t budgets = expander->state[expander->model->setting.nodes];
    if (!(outcome->flags & OUTCOME_ENTERED) || !are_fences_counted(expander) ||
        successor->violations & 1u << CV_PROPERTY_FENCES_RISE)
        return budgets;
    return stepper_raise(&expander->stepper, budgets, outcome->detail->fence);
}

static inline void send(struct expander *expander, struct successor *successor, const struct outcome *outcome,
                        uint32_t count)
{
    const struct cv_links *cut_links =
        expander->model->setting.options.cuts ? &expander_budgets(expander)->cut_links : NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct sending *sending = &outcome->sends[i];
        if (expander->alive & 1u << sending->to &&
            !(cut_links && cv_links_have(cut_links, successor->node, sending->to)))
            expander_set_contents(expander, successor, sending->slot,
                                  stepper_put(&expander->stepper, expander->state[sending->slot], sending->message));
    }
}

/* The state after a crash. A node that may recover keeps its clock and its requests left. */
static uint32_t dead_node_state(struct expander *expander, const struct successor *successor)
{
    struct model *model = expander->model;
    const uint32_t last = successor->outcome ? successor->outcome->node_state : expander->state[successor->node];
    const struct node_state *node_state = model_node_state(model, last);
    if (!model->setting.options.recoveries)
        return model->dead[successor->node];
    return model_add_node_state(model, &(struct node_state){.node = successor->node,
                                                            .requests_left = node_state->requests_left,
                                                            .clock = node_state->clock});
}

/* Messages to the dead node are lost; messages from it still arrive. */
static void crash(struct expander *expander, struct successor *successor, bool missed)
{
    const struct model *model = expander->model;
    const cv_node node = successor->node;
    struct budgets budgets = *expander_budgets(expander);
    expander_set_node_state(expander, successor, node, dead_node_state(expander, successor));
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (model->to[slot] == node && expander->state[slot])
            expander_set_contents(expander, successor, slot, 0);
    budgets.crashes--;
    budgets.misses -= missed;
    budgets.missed |= (uint32_t)missed << node;
    successor->missed = missed;
    successor->action = 0;
    change_budgets(expander, successor, &budgets);
}

/*
 * Some nodes can reach others again after this event, so they will be told. `after`: the budgets after it; `alive`: the
 * live nodes before it. The expander has the live nodes after it.
 */
static void regain(struct expander *expander, struct successor *successor, const struct budgets *after, uint32_t alive)
{
    struct model *model = expander->model;
    const struct setting *setting = &model->setting;
    const struct budgets *before = expander_budgets(expander);
    const uint32_t untold = before->missed | (before->missed ? alive : 0);
    for (uint32_t rest = alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t again = setting_reach(setting, &after->cut_links, expander->alive, node) &
                               ~setting_reach(setting, &before->cut_links, alive, node);
        const struct intern_record *record = intern_record(&model->node_states, expander->state[node]);
        struct node_state *node_state = again ? malloc(record->length) : NULL;
        if (!node_state) {
            model->out_of_memory |= again != 0;
            continue;
        }
        memcpy(node_state, record->bytes, record->length);
        node_state_regain(setting, node_state, again, untold);
        expander_set_node_state(expander, successor, node, model_add_node_state(model, node_state));
        free(node_state);
    }
}

/* What comes with an event, besides what the handler does. */
static inline void happen(struct expander *expander, struct successor *successor, const struct transition *transition)
{
    const struct model *model = expander->model;
    if (transition->slot) {
        const struct contents *list = model_contents(model, expander->state[transition->slot]);
        if (transition->rest == list->rest) {
            successor_add(successor, list->gone);
            expander_set_first(expander, transition->slot, transition->rest);
        } else {
            expander_set_contents(expander, successor, transition->slot, transition->rest);
        }
    }
    for (cv_node node = 0; transition->time && node < model->setting.nodes; node++)
        if (expander->alive & 1u << node)
            expander_set_node_state(expander, successor, node,
                                    stepper_age(&expander->stepper, expander->state[node], transition->time));
    for (uint32_t slot = model->setting.nodes + 1;
         transition->time && model->setting.options.delay && slot < model->slots; slot++)
        if (expander->state[slot])
            expander_set_contents(expander, successor, slot,
                                  stepper_age_contents(&expander->stepper, expander->state[slot], transition->time));
    if (transition->mistake) {
        struct budgets budgets = *expander_budgets(expander);
        budgets.suspicions--;
        change_budgets(expander, successor, &budgets);
    }
    if (transition->returns) {
        struct budgets budgets = *expander_budgets(expander);
        budgets.recoveries--;
        budgets.missed &= ~transition->returns;
        regain(expander, successor, &budgets, expander->alive & ~transition->returns);
        change_budgets(expander, successor, &budgets);
    }
}

/* Begins a successor; keep() finishes it. */
static struct successor *begin_transition(struct expander *expander, const struct transition *transition,
                                          const struct outcome *outcome)
{
    struct successor *successor = expander_next(expander);
    successor->fingerprint = expander->fingerprint;
    successor->type = transition->type;
    successor->node = transition->node;
    successor->peer = transition->peer;
    successor->which = transition->which;
    successor->action = transition->action;
    successor->outcome = outcome;
    successor->sent = CV_WHOLE;
    successor->violations = 0;
    successor->visible = successor->missed = successor->fast_path = false;
    return successor;
}

/* The same step, but the node crashes after some of its messages. A crash before the first is one before the step. */
static void cut_short(struct expander *expander, const struct transition *transition, const struct outcome *outcome)
{
    const bool may_miss = expander_budgets(expander)->misses > 0;
    for (uint32_t sent = 1; sent < outcome->send_count; sent++)
        for (uint32_t missed = 0; missed <= may_miss; missed++) {
            struct successor *successor = begin_transition(expander, transition, outcome);
            successor->sent = sent;
            happen(expander, successor, transition);
            send(expander, successor, outcome, sent);
            crash(expander, successor, missed);
            keep(expander, successor);
        }
}

void transition_crash(struct expander *expander, cv_node node, bool missed)
{
    const struct transition transition = {
        .type = missed ? CV_DECIDE_MISS : CV_DECIDE_CRASH, .node = (uint8_t)node, .peer = UINT8_MAX};
    struct successor *successor = begin_transition(expander, &transition, NULL);
    crash(expander, successor, missed);
    keep(expander, successor);
}

void transition_cut(struct expander *expander, cv_node one, cv_node other)
{
    struct budgets budgets = *expander_budgets(expander);
    const bool heals = cv_links_have(&budgets.cut_links, one, other);
    const struct transition transition = {
        .type = heals ? CV_DECIDE_HEAL : CV_DECIDE_CUT, .node = (uint8_t)one, .peer = (uint8_t)other};
    struct successor *successor = begin_transition(expander, &transition, NULL);
    cv_links_flip(&budgets.cut_links, one, other);
    if (heals)
        regain(expander, successor, &budgets, expander->alive);
    else
        budgets.cuts--;
    change_budgets(expander, successor, &budgets);
    keep(expander, successor);
}

void transition_take(struct expander *expander, const struct transition *transition)
{
    const cv_node node = transition->node;
    uint32_t node_state = expander->state[node];
    if (transition->time)
        node_state = stepper_age(&expander->stepper, node_state, transition->time);
    const struct outcome *outcome = transition->expected;
    if (!outcome)
        outcome = stepper_step(&expander->stepper, node_state, (enum cv_decision_type)transition->type,
                               transition->argument, expander->alive | expander->stopped_clocks);
    for (; outcome; outcome = outcome->next) {
        if (transition_waits(expander, outcome))
            continue;
        struct successor *successor = begin_transition(expander, transition, outcome);
        happen(expander, successor, transition);
        if (__builtin_expect(outcome->flags, 0)) {
            transition_judge(expander, successor);
            expander_set_budgets(expander, successor, transition_budgets(expander, successor));
        }
        successor_add(successor, outcome->change);
        expander_set(expander, node, outcome->node_state);
        send(expander, successor, outcome, outcome->send_count);
        keep(expander, successor);
        if (__builtin_expect(expander->model->setting.group.absence, 0) && transition_may_crash(expander))
            cut_short(expander, transition, outcome);
    }
}
