// SPDX-License-Identifier: MIT
#include "check/expand/successors.h"

#include "check/expand/fast_path.h"
#include "check/expand/renumber.h"
#include "check/expand/transition.h"

/* ---- events ---- */

static struct transition transition_at(enum cv_decision_type type, cv_node node, cv_node peer)
{
    return (struct transition){.type = (uint8_t)type, .node = (uint8_t)node, .peer = (uint8_t)peer};
}

/* Without order any message may arrive. Equal messages are neighbours; one of them is enough. */
static void deliveries_unordered(struct expander *expander, struct transition *transition, uint32_t all)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t contents = all; contents; transition->which++) {
        const struct contents *list = model_contents(expander->model, contents);
        if (list->first != last) {
            transition->action = action_of(ACTION_DELIVER_ONE, list->first);
            transition->argument = list->first;
            transition->rest = stepper_take(&expander->stepper, all, transition->which);
            transition_take(expander, transition);
        }
        last = list->first;
        contents = list->rest;
    }
}

static void deliver(struct expander *expander, uint32_t slot, const struct contents *list,
                    const struct outcome *outcome)
{
    const struct model *model = expander->model;
    struct transition transition = transition_delivery(model, slot, list);
    if (model->setting.scenario->unordered) {
        deliveries_unordered(expander, &transition, expander->state[slot]);
        return;
    }
    transition.expected = outcome;
    transition_take(expander, &transition);
}

/* Need no node be told of that loss? The node crashed unreported, or it is cut off while another one did. */
static bool is_missed(const struct expander *expander, cv_node other)
{
    const uint32_t missed = expander_budgets(expander)->missed;
    return expander->alive & 1u << other ? missed != 0 : (missed & 1u << other) != 0;
}

#define TRUSTS 256u

/* The detector reports that the other node is back; or, before that, that it was lost. */
static void report_return(struct expander *expander, cv_node node, cv_node other, bool back)
{
    struct transition transition = transition_at(back ? CV_DECIDE_TRUST : CV_DECIDE_TELL, node, other);
    transition.argument = other;
    transition.action = action_of(ACTION_TELL, (back ? TRUSTS : 0) + node * CV_CHECK_MOST_NODES + other);
    transition_take(expander, &transition);
}

/* The failure detector reports losses and returns, late but in order; within its budget it makes mistakes. */
static void reports(struct expander *expander, cv_node node, const struct node_state *node_state)
{
    const uint32_t reach =
        setting_reach(&expander->model->setting, &expander_budgets(expander)->cut_links, expander->alive, node);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const bool lost = !(reach & 1u << other);
        if ((node_state->back | node_state->unheard) & 1u << other) {
            report_return(expander, node, other, node_state->back & 1u << other);
            continue;
        }
        if (other == node || node_state->suspects & 1u << other || (!lost && !expander_budgets(expander)->suspicions))
            continue;
        struct transition transition = transition_at(lost ? CV_DECIDE_TELL : CV_DECIDE_SUSPECT, node, other);
        transition.argument = other;
        transition.mistake = !lost;
        if (lost && !is_missed(expander, other))
            transition.action = action_of(ACTION_TELL, node * CV_CHECK_MOST_NODES + other);
        transition_take(expander, &transition);
    }
}

static void crashes(struct expander *expander, cv_node node)
{
    transition_crash(expander, node, false);
    if (expander_budgets(expander)->misses)
        transition_crash(expander, node, true);
}

static void recover(struct expander *expander, cv_node node)
{
    struct transition transition = transition_at(CV_DECIDE_RECOVER, node, UINT8_MAX);
    transition.returns = 1u << node;
    expander->alive |= transition.returns;
    transition_take(expander, &transition);
    expander->alive &= ~transition.returns;
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

/* Cuts links between live nodes. A cut link may heal at any time. */
static void cuts(struct expander *expander, cv_node one)
{
    for (cv_node other = one + 1; other < expander->model->setting.nodes; other++)
        if (cv_links_have(&expander_budgets(expander)->cut_links, one, other) ||
            (expander_budgets(expander)->cuts && expander->alive >> one & expander->alive >> other & 1 &&
             may_cut(&expander->model->setting, one, other)))
            transition_cut(expander, one, other);
}

/* Recoveries, and links that are cut or heal. */
static void recoveries_and_cuts(struct expander *expander)
{
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        if (expander_budgets(expander)->recoveries && !(expander->alive & 1u << node))
            recover(expander, node);
        cuts(expander, node);
    }
}

static void faults(struct expander *expander, uint32_t nodes)
{
    for (uint32_t rest = nodes & expander->alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        reports(expander, node, model_node_state(expander->model, expander->state[node]));
        if (transition_may_crash(expander))
            crashes(expander, node);
    }
    const struct cv_check_options *options = &expander->model->setting.options;
    if (nodes == EVERY_NODE && (options->recoveries || options->cuts))
        recoveries_and_cuts(expander);
}

/* ---- timers ---- */

/* Does the detector still have to report a loss or a return? */
static bool has_pending_reports(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    for (cv_node node = 0; node < setting->nodes; node++) {
        if (!(expander->alive & 1u << node))
            continue;
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        const uint32_t reach = setting_reach(setting, &expander_budgets(expander)->cut_links, expander->alive, node);
        const uint32_t known = node_state->suspects;
        if (node_state->back | node_state->unheard)
            return true;
        for (cv_node other = 0; other < setting->nodes; other++)
            if (!((reach | known) & 1u << other) && !is_missed(expander, other))
                return true;
    }
    return false;
}

/* Has a node yet to start that must? */
static bool is_starting(const struct expander *expander)
{
    return expander->model->setting.all_start && expander->own_events & EVERY_NODES_FIRST_BIT * OWN_CALL;
}

/* Is nothing under way that could stop a timer: no message, no report of the detector, no node that is yet to start? */
static bool is_quiet(const struct expander *expander)
{
    const struct model *model = expander->model;
    if (is_starting(expander))
        return false;
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (expander->state[slot])
            return false;
    return !model->setting.group.absence || !has_pending_reports(expander);
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

/* Bounded delays: the least time that any message has left to arrive; UINT64_MAX if none is on its way. */
static uint64_t latest_arrival(const struct expander *expander)
{
    const struct model *model = expander->model;
    uint64_t least = UINT64_MAX;
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++) {
        const struct contents *list;
        for (uint32_t contents = expander->state[slot]; contents; contents = list->rest) {
            list = model_contents(model, contents);
            const uint64_t left = model_message(model, list->first)->clock;
            least = left < least ? left : least;
        }
    }
    return least;
}

/*
 * Accurate timers: time stands still while anything is under way. When nothing is, it advances to the timer that is due
 * first; of several due at once, any may fire first. With `any_time`, an armed timer may fire at any time. With bounded
 * delays, time advances while messages are under way, but not past the time at which one of them must have arrived; the
 * messages of an instant arrive before its timers fire.
 */
static void timeouts(struct expander *expander, uint32_t nodes)
{
    const struct setting *setting = &expander->model->setting;
    const bool any_time = setting->options.any_time;
    const bool bounded = setting->options.delay;
    if (!setting->timers || (!any_time && (bounded ? is_starting(expander) : !is_quiet(expander))))
        return;
    const uint64_t due = any_time ? 1 : next_due(expander);
    if (!due || (bounded && latest_arrival(expander) < due))
        return;
    for (cv_node node = 0; node < setting->nodes; node++)
        for (uint32_t timer = 0; nodes & 1u << node && timer < setting->timers; timer++) {
            if (model_node_state(expander->model, expander->state[node])->timers[timer] != due)
                continue;
            struct transition transition = transition_at(CV_DECIDE_TIMEOUT, node, UINT8_MAX);
            transition.which = (uint8_t)timer;
            transition.action = action_of(ACTION_FIRE, node * CV_MAX_TIMERS + timer);
            transition.argument = timer;
            transition.time = due - 1;
            transition_take(expander, &transition);
        }
}

/* ---- all of it ---- */

/* The run of a perpetual algorithm is over when no node waits, is inside or has requests left. */
static bool is_over(const struct expander *expander)
{
    if (!expander->model->setting.algorithm->hints.perpetual)
        return false;
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        const bool asks = node_state->flags & NODE_ALIVE || expander_budgets(expander)->recoveries;
        if ((node_state->requests_left && asks) || node_state->flags & (NODE_WAITING | NODE_INSIDE))
            return false;
    }
    return true;
}

static void begin(struct expander *expander, uint32_t *state, struct fingerprint fingerprint)
{
    expander->state = state;
    expander->fingerprint = fingerprint;
    expander->alive = model_alive(expander->model, state);
    expander->stopped_clocks = expander->model->setting.drops_clocks ? stopped_clocks(expander) : 0;
}

/* What every node may do by itself, OWN_EVENT_BITS each. */
static uint64_t find_own_events(const struct expander *expander)
{
    uint64_t events = 0;
    for (cv_node node = expander->model->setting.nodes; node-- > 0;)
        events = events << OWN_EVENT_BITS | model_own_events(expander->model, expander->state[node]);
    return events;
}

uint32_t expand_alive(struct expander *expander, uint32_t *state)
{
    begin(expander, state, expander->fingerprint);
    return expander->alive | expander->stopped_clocks;
}

void expand_delivery(struct expander *expander, uint32_t *state, struct fingerprint fingerprint, uint32_t slot)
{
    begin(expander, state, fingerprint);
    expander->own_events = find_own_events(expander);
    deliver(expander, slot, model_contents(expander->model, state[slot]), NULL);
}

/* ---- in three steps ---- */

static inline void add_enabled(struct expander *expander, enum cv_decision_type type, cv_node node, uint32_t slot,
                               const struct contents *list)
{
    struct enabled *enabled = &expander->enabled_events[expander->enabled_count++];
    enabled->step =
        step_of(expander->state[node], type, list ? list->first : 0, expander->alive | expander->stopped_clocks);
    enabled->at = stepper_expect(&expander->stepper, enabled->step);
    enabled->list = list;
    enabled->slot = (uint16_t)slot;
    enabled->type = (uint8_t)type;
    enabled->node = (uint8_t)node;
}

void expand_find_enabled(struct expander *expander, uint32_t *state, struct enabled_set *enabled_set)
{
    static const uint8_t types[] = {
        [OWN_CALL] = CV_DECIDE_START, [OWN_REQUEST] = CV_DECIDE_REQUEST, [OWN_LEAVE] = CV_DECIDE_LEAVE};
    const struct model *model = expander->model;
    const uint32_t slots = model->slots;
    begin(expander, state, expander->fingerprint);
    *enabled_set = (struct enabled_set){.first = expander->enabled_count,
                                        .alive = expander->alive,
                                        .stopped_clocks = expander->stopped_clocks,
                                        .own_events = find_own_events(expander),
                                        .over = is_over(expander)};
    for (uint64_t rest = enabled_set->own_events; rest; rest &= rest - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(rest);
        add_enabled(expander, types[1u << bit % OWN_EVENT_BITS], bit / OWN_EVENT_BITS, 0, NULL);
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

void expand_find_outcomes(struct expander *expander)
{
    look_up(expander, 0);
}

static void take_own_event(struct expander *expander, const struct enabled *enabled)
{
    struct transition transition = transition_at((enum cv_decision_type)enabled->type, enabled->node, UINT8_MAX);
    transition.expected = enabled->outcome;
    transition.action = transition_own_action(&expander->model->setting, enabled->type, enabled->node);
    transition_take(expander, &transition);
}

static void expand_some(struct expander *expander, const struct enabled_set *enabled_set, uint32_t nodes)
{
    if (enabled_set->over)
        return;
    expander->alive = enabled_set->alive;
    expander->stopped_clocks = enabled_set->stopped_clocks;
    expander->own_events = enabled_set->own_events;
    for (uint32_t i = enabled_set->first; i < enabled_set->end; i++) {
        const struct enabled *it = &expander->enabled_events[i];
        if (!(nodes & 1u << it->node))
            continue;
        if (expander->fast_path && it->outcome && it->outcome->fast_path)
            fast_path_take(expander, it);
        else if (it->list)
            deliver(expander, it->slot, it->list, it->outcome);
        else
            take_own_event(expander, it);
    }
    if (expander->model->setting.group.absence)
        faults(expander, nodes);
    timeouts(expander, nodes);
}

void expand_all(struct expander *expander, uint32_t *state, struct fingerprint fingerprint,
                const struct enabled_set *enabled_set)
{
    expander->state = state;
    expander->fingerprint = fingerprint;
    expand_some(expander, enabled_set, EVERY_NODE);
}

void expand(struct expander *expander, uint32_t *state, struct fingerprint fingerprint, uint32_t nodes)
{
    struct enabled_set enabled_set;
    expander->fingerprint = fingerprint;
    expand_find_enabled(expander, state, &enabled_set);
    look_up(expander, enabled_set.first);
    expand_some(expander, &enabled_set, nodes);
    expander->enabled_count = enabled_set.first;
}

void expand_apply(struct expander *expander, const struct successor *successor, uint32_t *state)
{
    if (successor->fast_path) {
        fast_path_apply(expander, successor, state);
        return;
    }
    for (uint32_t i = 0; i < successor->count; i++) {
        const struct change *change = &expander->changes[successor->first + i];
        state[change->slot] = change->number;
    }
}

struct cv_decision expand_decision(const struct successor *successor)
{
    struct cv_decision decision = {.type = (enum cv_decision_type)successor->type,
                                   .node = successor->node,
                                   .peer = successor->peer == UINT8_MAX ? CV_NOBODY : successor->peer,
                                   .which = successor->which,
                                   .sent = successor->sent,
                                   .missed = successor->missed};
    if (successor->outcome) {
        decision.choice_count = successor->outcome->detail->choice_count;
        memcpy(decision.choices, successor->outcome->detail->choices, sizeof decision.choices);
    }
    return decision;
}
