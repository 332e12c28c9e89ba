// SPDX-License-Identifier: MIT
#include "check/expand/transition.h"

#include <stdlib.h>

/* ---- one successor ---- */

/* Changes a part that has not changed in this step. */
static inline void set_first(struct expander *expander, uint32_t slot, uint32_t number)
{
    expander->touched[expander->touch_count] = slot;
    expander->old[expander->touch_count++] = expander->state[slot];
    expander->state[slot] = number;
}

/* A part may change twice in a step: it is touched once. */
static inline void set(struct expander *expander, uint32_t slot, uint32_t number)
{
    uint32_t i = 0;
    while (i < expander->touch_count && expander->touched[i] != slot)
        i++;
    if (i == expander->touch_count) {
        expander->touched[i] = slot;
        expander->old[i] = expander->state[slot];
        expander->touch_count++;
    }
    expander->state[slot] = number;
}

static inline void add_print(struct successor *successor, struct print change)
{
    successor->print = print_plus(successor->print, change);
}

static void set_node_state(struct expander *expander, struct successor *successor, cv_node node, uint32_t number)
{
    add_print(successor, print_minus(model_print(number, false), model_print(expander->state[node], false)));
    set(expander, node, number);
}

static void put_budgets(struct expander *expander, struct successor *successor, uint32_t number)
{
    const uint32_t slot = expander->model->setting.nodes;
    add_print(successor, print_minus(model_print(number, true), model_print(expander->state[slot], true)));
    set(expander, slot, number);
}

static void set_budgets(struct expander *expander, struct successor *successor, const struct budgets *budgets)
{
    put_budgets(expander, successor, model_add_budgets(expander->model, budgets));
}

static inline void set_contents(struct expander *expander, struct successor *successor, uint32_t slot, uint32_t number)
{
    const struct model *model = expander->model;
    add_print(successor,
              print_minus(model_contents(model, number)->here, model_contents(model, expander->state[slot])->here));
    set(expander, slot, number);
}

bool event_make_room(struct expander *expander)
{
    if (expander->count == expander->room) {
        struct successor *more = realloc(expander->successors, 2 * expander->room * sizeof *more);
        if (!more)
            return false;
        expander->successors = more;
        expander->room *= 2;
    }
    if (expander->change_count + MOST_PARTS > expander->change_room) {
        struct change *more = realloc(expander->changes, 2 * expander->change_room * sizeof *more);
        if (!more)
            return false;
        expander->changes = more;
        expander->change_room *= 2;
    }
    return true;
}

void expand_set(struct expander *expander, struct successor *successor, uint32_t slot, uint32_t number)
{
    if (slot < expander->model->setting.nodes)
        set_node_state(expander, successor, slot, number);
    else
        set_contents(expander, successor, slot, number);
}

uint32_t event_clockless(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    uint64_t latest = 0;
    for (cv_node node = 0; node < setting->nodes; node++) {
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        if (node_state->left)
            return 0;
        if (node_state->flags & NODE_WAITING && setting->caps && node_state->asked + 1ull > latest)
            latest = node_state->asked + 1ull;
    }
    return latest > DROP_CLOCKS_MOST ? 0 : HUSHED | (uint32_t)latest << DROP_CLOCKS_SHIFT;
}

static void drop_clocks_again(struct expander *expander, struct successor *successor)
{
    const uint32_t now = event_clockless(expander);
    if (now && now != expander->without_clocks)
        drop_clocks(expander, successor, now);
}

/* Keeps the successor that the state has been made into, and makes the state what it was. */
static inline void keep(struct expander *expander, struct successor *successor)
{
    if (__builtin_expect(expander->model->setting.counts, 0))
        recount(expander, successor);
    if (__builtin_expect(expander->model->setting.without_clocks, 0))
        drop_clocks_again(expander, successor);
    successor->key = successor->print;
    if (__builtin_expect(expander->symmetry.count > 1, 0))
        successor->key = symmetry_print(&expander->symmetry, expander->state, successor->print);
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
    expander->obliged += successor->action != 0;
    expander->count++;
}

/* ---- steps ---- */

/* The first bit of every glance. */
#define ANYBODY 0x1111111111111111ull
static_assert(GLANCE_BITS == 4, "so many bits apart");

static bool are_fences_counted(const struct expander *expander)
{
    return expander->model->setting.claims & CV_FENCES_RISE;
}

static uint32_t judge_entry(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    const uint64_t others = expander->wishes & ~((uint64_t)GLANCE_LEAVE << node * GLANCE_BITS);
    const bool alone = !(outcome->flags & OUTCOME_TWICE) && !(others & ANYBODY * GLANCE_LEAVE);
    const bool rises = !are_fences_counted(expander) || outcome->detail->fence > budgets_of(expander)->highest;
    return (alone ? 0 : WRONG_EXCLUSION) | (rises ? 0 : WRONG_FENCE);
}

static bool nothing_has_failed(const struct expander *expander)
{
    const struct cv_check_options *options = &expander->model->setting.options;
    const struct budgets *budgets = budgets_of(expander);
    return budgets->crashes == options->crashes && budgets->suspicions == options->suspicions &&
           budgets->cuts == options->cuts;
}

/* Does the node now follow another leader than somebody else does? */
static bool strays(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    const struct node_state *mine = model_node_state(expander->model, outcome->node_state);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const struct node_state *theirs = model_node_state(expander->model, expander->state[other]);
        if (other != node && theirs->flags & mine->flags & NODE_KNOWS && theirs->leader != mine->leader)
            return true;
    }
    return false;
}

/* Everything that is wrong: who looks for one property must not miss it because another is broken as well. */
static uint32_t judge(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    uint32_t wrong = outcome->flags & OUTCOME_ENTERED ? judge_entry(expander, node, outcome) : 0;
    if (outcome->flags & OUTCOME_BROKEN)
        wrong |= WRONG_INVARIANT;
    if (outcome->flags & OUTCOME_RECALLED)
        wrong |= WRONG_RECALL;
    if (!nothing_has_failed(expander))
        return wrong;
    if (outcome->flags & OUTCOME_MISLED)
        wrong |= WRONG_LEADER;
    if (outcome->flags & OUTCOME_FOLLOWS && strays(expander, node, outcome))
        wrong |= WRONG_AGREEMENT;
    return wrong;
}

void event_judge(const struct expander *expander, struct successor *successor)
{
    const struct outcome *outcome = successor->outcome;
    successor->visible = outcome->flags & (OUTCOME_ENTERED | OUTCOME_LEFT | OUTCOME_FOLLOWS);
    successor->wrong = (uint8_t)judge(expander, successor->node, outcome);
}

uint32_t event_budgets(struct expander *expander, const struct successor *successor)
{
    const struct outcome *outcome = successor->outcome;
    const uint32_t budgets = expander->state[expander->model->setting.nodes];
    if (!(outcome->flags & OUTCOME_ENTERED) || !are_fences_counted(expander) || successor->wrong & WRONG_FENCE)
        return budgets;
    return stepper_raise(&expander->stepper, budgets, outcome->detail->fence);
}

static inline void send(struct expander *expander, struct successor *successor, const struct outcome *outcome,
                        uint32_t count)
{
    const struct cv_links *apart = expander->model->setting.options.cuts ? &budgets_of(expander)->apart : NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct sending *sending = &outcome->sends[i];
        if (expander->alive & 1u << sending->to && !(apart && cv_links_have(apart, successor->node, sending->to)))
            set_contents(expander, successor, sending->slot,
                         stepper_put(&expander->stepper, expander->state[sending->slot], sending->message));
    }
}

/* Of who may come back is kept how often it will still ask, and its clock. */
static uint32_t number_of_dead(struct expander *expander, const struct successor *successor)
{
    struct model *model = expander->model;
    const uint32_t last = successor->outcome ? successor->outcome->node_state : expander->state[successor->node];
    const struct node_state *node_state = model_node_state(model, last);
    if (!model->setting.options.recoveries)
        return model->dead[successor->node];
    return model_add_node_state(
        model, &(struct node_state){.node = successor->node, .left = node_state->left, .clock = node_state->clock});
}

/* What is on its way to the dead is as good as lost; what they sent still arrives. */
static void die(struct expander *expander, struct successor *successor, bool missed)
{
    const struct model *model = expander->model;
    const cv_node node = successor->node;
    struct budgets budgets = *budgets_of(expander);
    set_node_state(expander, successor, node, number_of_dead(expander, successor));
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (model->to[slot] == node && expander->state[slot])
            set_contents(expander, successor, slot, 0);
    budgets.crashes--;
    budgets.misses -= missed;
    budgets.missed |= (uint32_t)missed << node;
    successor->missed = missed;
    successor->action = 0;
    set_budgets(expander, successor, &budgets);
}

/*
 * Who lived before finds others within reach again, in the world as it is to be: they will be told. `alive` says who
 * lived, the expander who lives.
 */
static void regain(struct expander *expander, struct successor *successor, const struct budgets *after, uint32_t alive)
{
    struct model *model = expander->model;
    const struct setting *setting = &model->setting;
    const struct budgets *before = budgets_of(expander);
    const uint32_t untold = before->missed | (before->missed ? alive : 0);
    for (uint32_t rest = alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t again = setting_reach(setting, &after->apart, expander->alive, node) &
                               ~setting_reach(setting, &before->apart, alive, node);
        const struct intern_record *record = intern_record(&model->node_states, expander->state[node]);
        struct node_state *node_state = again ? malloc(record->length) : NULL;
        if (!node_state) {
            model->out_of_memory |= again != 0;
            continue;
        }
        memcpy(node_state, record->bytes, record->length);
        node_state_regain(setting, node_state, again, untold);
        set_node_state(expander, successor, node, model_add_node_state(model, node_state));
        free(node_state);
    }
}

/* What comes with the event, before the handler's own doing. */
static inline void happen(struct expander *expander, struct successor *successor, const struct event *event)
{
    const struct model *model = expander->model;
    if (event->slot) {
        const struct contents *list = model_contents(model, expander->state[event->slot]);
        if (event->rest == list->rest) {
            add_print(successor, list->gone);
            set_first(expander, event->slot, event->rest);
        } else {
            set_contents(expander, successor, event->slot, event->rest);
        }
    }
    for (cv_node node = 0; event->time && node < model->setting.nodes; node++)
        if (expander->alive & 1u << node)
            set_node_state(expander, successor, node,
                           stepper_age(&expander->stepper, expander->state[node], event->time));
    if (event->mistake) {
        struct budgets budgets = *budgets_of(expander);
        budgets.suspicions--;
        set_budgets(expander, successor, &budgets);
    }
    if (event->returns) {
        struct budgets budgets = *budgets_of(expander);
        budgets.recoveries--;
        budgets.missed &= ~event->returns;
        regain(expander, successor, &budgets, expander->alive & ~event->returns);
        set_budgets(expander, successor, &budgets);
    }
}

/* Begins a successor; it is finished with keep(). */
static struct successor *open_event(struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    struct successor *successor = event_open(expander);
    successor->print = expander->print;
    successor->type = event->type;
    successor->node = event->node;
    successor->peer = event->peer;
    successor->node_state = event->node_state;
    successor->action = event->action;
    successor->outcome = outcome;
    successor->sent = CV_WHOLE;
    successor->wrong = WRONG_NOTHING;
    successor->visible = successor->missed = successor->fast_path = false;
    return successor;
}

/* The same step, but the node dies after sending some of its messages. Before the first is as good as not at all. */
static void cut_short(struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    const bool may_miss = budgets_of(expander)->misses > 0;
    for (uint32_t sent = 1; sent < outcome->send_count; sent++)
        for (uint32_t missed = 0; missed <= may_miss; missed++) {
            struct successor *successor = open_event(expander, event, outcome);
            successor->sent = sent;
            happen(expander, successor, event);
            send(expander, successor, outcome, sent);
            die(expander, successor, missed);
            keep(expander, successor);
        }
}

void event_crash(struct expander *expander, cv_node node, bool missed)
{
    const struct event event = {
        .type = missed ? CV_DECIDE_MISS : CV_DECIDE_CRASH, .node = (uint8_t)node, .peer = UINT8_MAX};
    struct successor *successor = open_event(expander, &event, NULL);
    die(expander, successor, missed);
    keep(expander, successor);
}

void event_cut(struct expander *expander, cv_node one, cv_node other)
{
    struct budgets budgets = *budgets_of(expander);
    const bool heals = cv_links_have(&budgets.apart, one, other);
    const struct event event = {
        .type = heals ? CV_DECIDE_HEAL : CV_DECIDE_CUT, .node = (uint8_t)one, .peer = (uint8_t)other};
    struct successor *successor = open_event(expander, &event, NULL);
    cv_links_flip(&budgets.apart, one, other);
    if (heals)
        regain(expander, successor, &budgets, expander->alive);
    else
        budgets.cuts--;
    set_budgets(expander, successor, &budgets);
    keep(expander, successor);
}

void event_take(struct expander *expander, const struct event *event)
{
    const cv_node node = event->node;
    uint32_t node_state = expander->state[node];
    if (event->time)
        node_state = stepper_age(&expander->stepper, node_state, event->time);
    const struct outcome *outcome = event->expected;
    if (!outcome)
        outcome = stepper_step(&expander->stepper, node_state, (enum cv_decision_type)event->type, event->argument,
                               expander->alive | expander->without_clocks);
    for (; outcome; outcome = outcome->next) {
        if (event_waits(expander, outcome))
            continue;
        struct successor *successor = open_event(expander, event, outcome);
        happen(expander, successor, event);
        if (__builtin_expect(outcome->flags, 0)) {
            event_judge(expander, successor);
            put_budgets(expander, successor, event_budgets(expander, successor));
        }
        add_print(successor, outcome->change);
        set(expander, node, outcome->node_state);
        send(expander, successor, outcome, outcome->send_count);
        keep(expander, successor);
        if (__builtin_expect(expander->model->setting.group.absence, 0) && may_die(expander))
            cut_short(expander, event, outcome);
    }
}
