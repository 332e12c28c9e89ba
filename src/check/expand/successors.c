// SPDX-License-Identifier: MIT
#include "check/expand/successors.h"

#include <stdlib.h>

#include "check/expand/fast_path.h"
#include "check/expand/transition.h"

int expander_init(struct expander *expander, struct model *model, struct memos *memos)
{
    *expander = (struct expander){.model = model, .room = 256, .change_room = 1024};
    expander->successors = malloc(expander->room * sizeof *expander->successors);
    expander->changes = malloc(expander->change_room * sizeof *expander->changes);
    expander->foresight.observations = &model->observations;
    const int error = stepper_init(&expander->stepper, model, memos);
    if (error || memo_init(&expander->foresight.known) || memo_init(&expander->quiet) ||
        commuting_init(&expander->commuting, model) || symmetry_init(&expander->symmetry, model) ||
        !expander->successors || !expander->changes)
        return CV_ENOMEM;
    expander->fast_path = may_take_fast_path(expander);
    expander->stepper.symmetry = expander->symmetry.count > 1 ? &expander->symmetry : NULL;
    return 0;
}

void expander_free(struct expander *expander)
{
    free(expander->successors);
    free(expander->changes);
    stepper_free(&expander->stepper);
    memo_free(&expander->foresight.known);
    memo_free(&expander->quiet);
    commuting_free(&expander->commuting);
    symmetry_free(&expander->symmetry);
}

uint64_t expander_bytes(const struct expander *expander)
{
    return stepper_bytes(&expander->stepper) + stepper_bytes(&expander->commuting.stepper) +
           memo_bytes(&expander->commuting.known) + memo_bytes(&expander->foresight.known) +
           memo_bytes(&expander->quiet) + symmetry_bytes(&expander->symmetry);
}

void expander_tidy(struct expander *expander)
{
    stepper_tidy(&expander->stepper);
    stepper_tidy(&expander->commuting.stepper);
    memo_tidy(&expander->commuting.known);
    memo_tidy(&expander->foresight.known);
    memo_tidy(&expander->quiet);
    symmetry_tidy(&expander->symmetry);
}

/* ---- events ---- */

static struct event event_at(enum cv_decision_type type, cv_node node, cv_node peer)
{
    return (struct event){.type = (uint8_t)type, .node = (uint8_t)node, .peer = (uint8_t)peer};
}

/* Without order: any of them. Equal ones stand next to each other: one of them will do. */
static void deliveries_unordered(struct expander *expander, struct event *event, uint32_t all)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t contents = all; contents; event->node_state++) {
        const struct contents *list = model_contents(expander->model, contents);
        if (list->first != last) {
            event->action = must(MUST_DELIVER_ONE, list->first);
            event->argument = list->first;
            event->rest = stepper_take(&expander->stepper, all, event->node_state);
            event_take(expander, event);
        }
        last = list->first;
        contents = list->rest;
    }
}

static void deliver(struct expander *expander, uint32_t slot, const struct contents *list,
                    const struct outcome *outcome)
{
    const struct model *model = expander->model;
    struct event event = event_delivery(model, slot, list);
    if (model->setting.scenario->unordered) {
        deliveries_unordered(expander, &event, expander->state[slot]);
        return;
    }
    event.expected = outcome;
    event_take(expander, &event);
}

/* Need that node not be told of that one's loss? It died unnoticed, or is cut off because somebody did. */
static bool is_missed(const struct expander *expander, cv_node other)
{
    const uint32_t missed = budgets_of(expander)->missed;
    return expander->alive & 1u << other ? missed != 0 : (missed & 1u << other) != 0;
}

#define TRUSTS 256u

/* That the other one is back; or, before that, that it was gone. */
static void report_return(struct expander *expander, cv_node node, cv_node other, bool back)
{
    struct event event = event_at(back ? CV_DECIDE_TRUST : CV_DECIDE_TELL, node, other);
    event.argument = other;
    event.action = must(MUST_TELL, (back ? TRUSTS : 0) + node * CV_CHECK_MOST_NODES + other);
    event_take(expander, &event);
}

/* The failure detector: the truth, late, and in order; or, as long as the budget lasts, a mistake. */
static void reports(struct expander *expander, cv_node node, const struct node_state *node_state)
{
    const uint32_t reach =
        setting_reach(&expander->model->setting, &budgets_of(expander)->apart, expander->alive, node);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const bool lost = !(reach & 1u << other);
        if ((node_state->back | node_state->unheard) & 1u << other) {
            report_return(expander, node, other, node_state->back & 1u << other);
            continue;
        }
        if (other == node || node_state->suspects & 1u << other || (!lost && !budgets_of(expander)->suspicions))
            continue;
        struct event event = event_at(lost ? CV_DECIDE_TELL : CV_DECIDE_SUSPECT, node, other);
        event.argument = other;
        event.mistake = !lost;
        if (lost && !is_missed(expander, other))
            event.action = must(MUST_TELL, node * CV_CHECK_MOST_NODES + other);
        event_take(expander, &event);
    }
}

static void crashes(struct expander *expander, cv_node node)
{
    event_crash(expander, node, false);
    if (budgets_of(expander)->misses)
        event_crash(expander, node, true);
}

static void recover(struct expander *expander, cv_node node)
{
    struct event event = event_at(CV_DECIDE_RECOVER, node, UINT8_MAX);
    event.returns = 1u << node;
    expander->alive |= event.returns;
    event_take(expander, &event);
    expander->alive &= ~event.returns;
}

/* Is there such a link, and may it be cut? */
static bool may_cut(const struct setting *setting, cv_node one, cv_node other)
{
    const struct cv_links *given = &setting->options.may_be_cut;
    const struct cv_group *group = &setting->group;
    bool linked = group->topology != CV_GRAPH;
    for (uint64_t e = linked ? 1 : group->edges[one]; !linked && e < group->edges[one + 1]; e++)
        linked = group->neighbours[e] == other;
    return linked && (cv_links_are_none(given) || cv_links_have(given, one, other));
}

/* Between two who live; what is cut may be healed at any time. */
static void cuts(struct expander *expander, cv_node one)
{
    for (cv_node other = one + 1; other < expander->model->setting.nodes; other++)
        if (cv_links_have(&budgets_of(expander)->apart, one, other) ||
            (budgets_of(expander)->cuts && expander->alive >> one & expander->alive >> other & 1 &&
             may_cut(&expander->model->setting, one, other)))
            event_cut(expander, one, other);
}

/* Who comes back, and links that are cut or healed. */
static void changes(struct expander *expander)
{
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        if (budgets_of(expander)->recoveries && !(expander->alive & 1u << node))
            recover(expander, node);
        cuts(expander, node);
    }
}

static void faults(struct expander *expander, uint32_t nodes)
{
    for (uint32_t rest = nodes & expander->alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        reports(expander, node, model_node_state(expander->model, expander->state[node]));
        if (may_die(expander))
            crashes(expander, node);
    }
    const struct cv_check_options *options = &expander->model->setting.options;
    if (nodes == EVERY_NODE && (options->recoveries || options->cuts))
        changes(expander);
}

/* ---- timers ---- */

/* Is somebody still to be told of a loss? */
static bool somebody_is_to_be_told(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    for (cv_node node = 0; node < setting->nodes; node++) {
        if (!(expander->alive & 1u << node))
            continue;
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        const uint32_t reach = setting_reach(setting, &budgets_of(expander)->apart, expander->alive, node);
        const uint32_t known = node_state->suspects;
        if (node_state->back | node_state->unheard)
            return true;
        for (cv_node other = 0; other < setting->nodes; other++)
            if (!((reach | known) & 1u << other) && !is_missed(expander, other))
                return true;
    }
    return false;
}

/* Is nothing under way that might still stop a timer: no message, no report of the detector? */
static bool is_quiet(const struct expander *expander)
{
    const struct model *model = expander->model;
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (expander->state[slot])
            return false;
    return !model->setting.group.absence || !somebody_is_to_be_told(expander);
}

/* The least time that any timer has left, plus 1; 0 if none is armed. */
static uint64_t next_due(const struct expander *expander)
{
    uint64_t next = 0;
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        for (uint32_t timer = 0; timer < expander->model->setting.timers; timer++)
            if (node_state->timers[timer] && (!next || node_state->timers[timer] < next))
                next = node_state->timers[timer];
    }
    return next;
}

/*
 * Accurate timers: as long as anything is under way time stands still; when all is quiet it leaps to the timer that is
 * due first, and of several due at once any may be first. Otherwise an armed timer fires whenever it likes.
 */
static void timeouts(struct expander *expander, uint32_t nodes)
{
    const struct setting *setting = &expander->model->setting;
    const bool any_time = setting->options.any_time;
    if (!setting->timers || (!any_time && !is_quiet(expander)))
        return;
    const uint64_t due = any_time ? 1 : next_due(expander);
    for (cv_node node = 0; due && node < setting->nodes; node++)
        for (uint32_t timer = 0; nodes & 1u << node && timer < setting->timers; timer++) {
            if (model_node_state(expander->model, expander->state[node])->timers[timer] != due)
                continue;
            struct event event = event_at(CV_DECIDE_TIMEOUT, node, UINT8_MAX);
            event.node_state = (uint8_t)timer;
            event.action = must(MUST_FIRE, node * CV_MAX_TIMERS + timer);
            event.argument = timer;
            event.time = due - 1;
            event_take(expander, &event);
        }
}

/* ---- all of it ---- */

/* A perpetual algorithm's run ends when nobody waits, is inside or will want to enter. */
static bool is_over(const struct expander *expander)
{
    if (!expander->model->setting.algorithm->perpetual)
        return false;
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        const bool asks = node_state->flags & NODE_ALIVE || budgets_of(expander)->recoveries;
        if ((node_state->left && asks) || node_state->flags & (NODE_WAITING | NODE_INSIDE))
            return false;
    }
    return true;
}

static void begin(struct expander *expander, uint32_t *state, struct print print)
{
    expander->state = state;
    expander->print = print;
    expander->alive = model_alive(expander->model, state);
    expander->without_clocks = expander->model->setting.without_clocks ? event_clockless(expander) : 0;
}

/* What every node may do by itself, and so who is inside. */
static uint64_t glance(const struct expander *expander)
{
    uint64_t wishes = 0;
    for (cv_node node = expander->model->setting.nodes; node-- > 0;)
        wishes = wishes << GLANCE_BITS | model_glance(expander->model, expander->state[node]);
    return wishes;
}

uint32_t expand_alive(struct expander *expander, uint32_t *state)
{
    begin(expander, state, expander->print);
    return expander->alive | expander->without_clocks;
}

void expand_delivery(struct expander *expander, uint32_t *state, struct print print, uint32_t slot)
{
    begin(expander, state, print);
    expander->wishes = glance(expander);
    deliver(expander, slot, model_contents(expander->model, state[slot]), NULL);
}

/* ---- in three steps ---- */

static inline void add_enabled(struct expander *expander, enum cv_decision_type type, cv_node node, uint32_t slot,
                               const struct contents *list)
{
    struct enabled *enabled = &expander->enabled_events[expander->enabled_count++];
    enabled->step =
        step_of(expander->state[node], type, list ? list->first : 0, expander->alive | expander->without_clocks);
    enabled->at = stepper_expect(&expander->stepper, enabled->step);
    enabled->list = list;
    enabled->slot = (uint16_t)slot;
    enabled->type = (uint8_t)type;
    enabled->node = (uint8_t)node;
}

void expand_look(struct expander *expander, uint32_t *state, struct enabled_set *enabled_set)
{
    static const uint8_t types[] = {
        [GLANCE_CALL] = CV_DECIDE_START, [GLANCE_ASK] = CV_DECIDE_REQUEST, [GLANCE_LEAVE] = CV_DECIDE_LEAVE};
    const struct model *model = expander->model;
    const uint32_t slots = model->slots;
    begin(expander, state, expander->print);
    *enabled_set = (struct enabled_set){.first = expander->enabled_count,
                                        .alive = expander->alive,
                                        .without_clocks = expander->without_clocks,
                                        .wishes = glance(expander),
                                        .over = is_over(expander)};
    for (uint64_t rest = enabled_set->wishes; rest; rest &= rest - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(rest);
        add_enabled(expander, types[1u << bit % GLANCE_BITS], bit / GLANCE_BITS, 0, NULL);
    }
    for (uint32_t slot = model->setting.nodes + 1; slot < slots; slot++)
        if (state[slot])
            add_enabled(expander, CV_DECIDE_DELIVER, model->to[slot], slot, model_contents(model, state[slot]));
    enabled_set->end = expander->enabled_count;
}

static void look_up(struct expander *expander, uint32_t first)
{
    for (uint32_t i = first; i < expander->enabled_count; i++) {
        struct enabled *it = &expander->enabled_events[i];
        it->outcome = stepper_expected(it->at, it->step);
    }
}

void expand_look_up(struct expander *expander)
{
    look_up(expander, 0);
}

/* What the node's surroundings do: they need not call or ask, but who is inside leaves some time. */
static void wish(struct expander *expander, const struct enabled *enabled)
{
    struct event event = event_at((enum cv_decision_type)enabled->type, enabled->node, UINT8_MAX);
    event.expected = enabled->outcome;
    event.action = event.type == CV_DECIDE_LEAVE ? must(MUST_LEAVE, event.node) : 0;
    event_take(expander, &event);
}

static void expand_some(struct expander *expander, const struct enabled_set *enabled_set, uint32_t nodes)
{
    if (enabled_set->over)
        return;
    expander->alive = enabled_set->alive;
    expander->without_clocks = enabled_set->without_clocks;
    expander->wishes = enabled_set->wishes;
    for (uint32_t i = enabled_set->first; i < enabled_set->end; i++) {
        const struct enabled *it = &expander->enabled_events[i];
        if (!(nodes & 1u << it->node))
            continue;
        if (expander->fast_path && it->outcome && it->outcome->fast_path)
            take_lightly(expander, it);
        else if (it->list)
            deliver(expander, it->slot, it->list, it->outcome);
        else
            wish(expander, it);
    }
    if (expander->model->setting.group.absence)
        faults(expander, nodes);
    timeouts(expander, nodes);
}

void expand_all(struct expander *expander, uint32_t *state, struct print print, const struct enabled_set *enabled_set)
{
    expander->state = state;
    expander->print = print;
    expand_some(expander, enabled_set, EVERY_NODE);
}

void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes)
{
    struct enabled_set enabled_set;
    expander->print = print;
    expand_look(expander, state, &enabled_set);
    look_up(expander, enabled_set.first);
    expand_some(expander, &enabled_set, nodes);
    expander->enabled_count = enabled_set.first;
}

void expand_apply(struct expander *expander, const struct successor *successor, uint32_t *state)
{
    if (successor->fast_path) {
        apply_lightly(expander, successor, state);
        return;
    }
    for (uint32_t i = 0; i < successor->count; i++) {
        const struct change *change = &expander->changes[successor->first + i];
        state[change->slot] = change->number;
    }
}

const char *wrong_name(enum wrong wrong)
{
    static const char *const names[] = {"exclusion",    "fences-rise", "invariant",
                                        "one-election", "best-wins",   "agreement"};
    return names[__builtin_ctz(wrong)];
}

struct cv_decision expand_decision(const struct successor *successor)
{
    struct cv_decision decision = {.type = (enum cv_decision_type)successor->type,
                                   .node = successor->node,
                                   .peer = successor->peer == UINT8_MAX ? CV_NOBODY : successor->peer,
                                   .which = successor->node_state,
                                   .sent = successor->sent,
                                   .missed = successor->missed};
    if (successor->outcome) {
        decision.choice_count = successor->outcome->detail->choice_count;
        memcpy(decision.choices, successor->outcome->detail->choices, sizeof decision.choices);
    }
    return decision;
}
