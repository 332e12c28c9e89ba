// SPDX-License-Identifier: MIT
#include "check/expand.h"

#include <stdlib.h>

#include "check/event.h"
#include "check/light.h"

/* So much that is remembered is not in the nearest cache any more. */
#define WORTH_FETCHING ((size_t)1 << 19)

int expander_init(struct expander *expander, struct model *model)
{
    *expander = (struct expander){.model = model, .room = 256, .change_room = 1024};
    expander->successors = malloc(expander->room * sizeof *expander->successors);
    expander->changes = malloc(expander->change_room * sizeof *expander->changes);
    expander->foresight.habits = &model->habits;
    const int error = stepper_init(&expander->stepper, model);
    if (error || memo_init(&expander->foresight.known) || commuting_init(&expander->commuting, model) ||
        symmetry_init(&expander->symmetry, model) || !expander->successors || !expander->changes)
        return CV_ENOMEM;
    expander->light = may_be_light(expander);
    return 0;
}

void expander_free(struct expander *expander)
{
    free(expander->successors);
    free(expander->changes);
    stepper_free(&expander->stepper);
    memo_free(&expander->foresight.known);
    commuting_free(&expander->commuting);
    symmetry_free(&expander->symmetry);
}

/* ---- events ---- */

static struct event event_at(enum cv_decision_type type, cv_node node, cv_node peer)
{
    return (struct event){.type = (uint8_t)type, .node = (uint8_t)node, .peer = (uint8_t)peer};
}

/* What the node's surroundings do: they need not call or ask, but who is inside leaves some time. */
static void wish(struct expander *expander, cv_node node, enum glance glance)
{
    const enum cv_decision_type type = glance == GLANCE_LEAVE  ? CV_DECIDE_LEAVE
                                       : glance == GLANCE_CALL ? CV_DECIDE_START
                                                               : CV_DECIDE_REQUEST;
    struct event event = event_at(type, node, UINT8_MAX);
    event.action = type == CV_DECIDE_LEAVE ? must(MUST_LEAVE, node) : 0;
    event_take(expander, &event);
}

/* Without order: any of them. Equal ones stand next to each other: one of them will do. */
static void deliveries_unordered(struct expander *expander, struct event *event, uint32_t all)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t contents = all; contents; event->place++) {
        const struct contents *list = model_contents(expander->model, contents);
        if (list->first != last) {
            event->action = must(MUST_DELIVER_ONE, list->first);
            event->argument = list->first;
            event->rest = stepper_take(&expander->stepper, all, event->place);
            event_take(expander, event);
        }
        last = list->first;
        contents = list->rest;
    }
}

static inline void deliveries(struct expander *expander, uint32_t part, uint32_t contents)
{
    const struct model *model = expander->model;
    struct event event = event_delivery(model, part, model_contents(model, contents));
    if (model->setting.scenario->unordered) {
        deliveries_unordered(expander, &event, contents);
        return;
    }
    if (expander->expected_at < expander->expected_count)
        event.expected = expander->expected[expander->expected_at++].outcome;
    event_take(expander, &event);
}

/* Need that node not be told of that one's loss? It died unnoticed, or is cut off because somebody did. */
static bool is_missed(const struct expander *expander, cv_node other)
{
    const uint32_t missed = world_of(expander)->missed;
    return expander->alive & 1u << other ? missed != 0 : (missed & 1u << other) != 0;
}

/* The failure detector: the truth, late; or, as long as the budget lasts, a mistake. */
static void reports(struct expander *expander, cv_node node, const struct place *place)
{
    const uint32_t reach = setting_reach(&expander->model->setting, expander->alive, node);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const bool lost = !(reach & 1u << other);
        if (other == node || place->suspects & 1u << other || (!lost && !world_of(expander)->suspicions))
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
    if (world_of(expander)->misses)
        event_crash(expander, node, true);
}

static void faults(struct expander *expander, uint32_t nodes)
{
    for (uint32_t rest = nodes; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        reports(expander, node, model_place(expander->model, expander->state[node]));
        if (may_die(expander))
            crashes(expander, node);
    }
}

/* ---- timers ---- */

/* Is somebody still to be told of a loss? */
static bool somebody_is_to_be_told(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    for (cv_node node = 0; node < setting->nodes; node++) {
        if (!(expander->alive & 1u << node))
            continue;
        const uint32_t reach = setting_reach(setting, expander->alive, node);
        const uint32_t known = model_place(expander->model, expander->state[node])->suspects;
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
    for (uint32_t part = model->setting.nodes + 1; part < model->parts; part++)
        if (expander->state[part])
            return false;
    return !model->setting.group.absence || !somebody_is_to_be_told(expander);
}

/* The least time that any timer has left, plus 1; 0 if none is armed. */
static uint64_t next_due(const struct expander *expander)
{
    uint64_t next = 0;
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        const struct place *place = model_place(expander->model, expander->state[node]);
        for (uint32_t timer = 0; timer < expander->model->setting.timers; timer++)
            if (place->timers[timer] && (!next || place->timers[timer] < next))
                next = place->timers[timer];
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
            if (model_place(expander->model, expander->state[node])->timers[timer] != due)
                continue;
            struct event event = event_at(CV_DECIDE_TIMEOUT, node, UINT8_MAX);
            event.place = (uint8_t)timer;
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
        const struct place *place = model_place(expander->model, expander->state[node]);
        if (place->left || place->flags & (PLACE_WAITING | PLACE_INSIDE))
            return false;
    }
    return true;
}

static void begin(struct expander *expander, uint32_t *state, struct print print)
{
    expander->state = state;
    expander->print = print;
    expander->alive = model_alive(expander->model, state);
    expander->hushed = expander->model->setting.hushes ? event_hushed(expander) : 0;
}

/* What every node may do by itself, and so who is inside. */
static void glance(struct expander *expander)
{
    const uint32_t nodes = expander->model->setting.nodes;
    uint64_t wishes = 0;
    for (cv_node node = 0; node < nodes; node++)
        wishes |= (uint64_t)model_glance(expander->model, expander->state[node]) << node * GLANCE_BITS;
    expander->wishes = wishes;
}

uint32_t expand_alive(struct expander *expander, uint32_t *state)
{
    begin(expander, state, expander->print);
    return expander->alive | expander->hushed;
}

void expand_delivery(struct expander *expander, uint32_t *state, struct print print, uint32_t part)
{
    begin(expander, state, print);
    glance(expander);
    deliveries(expander, part, state[part]);
}

void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes)
{
    const struct model *model = expander->model;
    begin(expander, state, print);
    if (is_over(expander))
        return;
    glance(expander);
    for (uint64_t rest = expander->wishes; rest; rest &= rest - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(rest);
        if (nodes & 1u << bit / GLANCE_BITS)
            wish(expander, bit / GLANCE_BITS, 1u << bit % GLANCE_BITS);
    }
    if (model->setting.group.absence)
        faults(expander, nodes & expander->alive);
    const uint32_t parts = model->parts;
    if (expander->light && nodes == EVERY_NODE)
        deliver_lightly(expander);
    else
        for (uint32_t part = model->setting.nodes + 1; part < parts; part++)
            if (state[part] && nodes & 1u << model->to[part])
                deliveries(expander, part, state[part]);
    timeouts(expander, nodes);
}

uint32_t expand_expect(struct expander *expander, uint32_t *state)
{
    const struct model *model = expander->model;
    const uint32_t first = expander->expected_count, parts = model->parts;
    if (memo_bytes(&expander->stepper.steps) < WORTH_FETCHING || model->setting.scenario->unordered ||
        first + parts > MOST_EXPECTED)
        return first;
    const uint32_t alive = expand_alive(expander, state);
    for (uint32_t part = model->setting.nodes + 1; part < parts; part++) {
        if (!state[part])
            continue;
        const struct expected it = {state[model->to[part]], model_contents(model, state[part])->first, alive, NULL};
        stepper_expect(&expander->stepper, it.place, it.message, alive);
        expander->expected[expander->expected_count++] = it;
    }
    return first;
}

void expand_expect_again(struct expander *expander)
{
    for (uint32_t i = 0; i < expander->expected_count; i++) {
        struct expected *it = &expander->expected[i];
        it->outcome = stepper_expect_outcome(&expander->stepper, it->place, it->message, it->alive);
    }
}

void expand_apply(struct expander *expander, const struct successor *successor, uint32_t *state)
{
    if (successor->light) {
        apply_lightly(expander, successor, state);
        return;
    }
    for (uint32_t i = 0; i < successor->count; i++) {
        const struct change *change = &expander->changes[successor->first + i];
        state[change->part] = change->number;
    }
}

const char *wrong_name(enum wrong wrong)
{
    static const char *const names[] = {"",          "exclusion", "fences-rise", "one-election",
                                        "invariant", "best-wins", "agreement"};
    return names[wrong];
}

struct cv_decision expand_decision(const struct successor *successor)
{
    struct cv_decision decision = {.type = (enum cv_decision_type)successor->type,
                                   .node = successor->node,
                                   .peer = successor->peer == UINT8_MAX ? CV_NOBODY : successor->peer,
                                   .place = successor->place,
                                   .sent = successor->sent,
                                   .missed = successor->missed};
    if (successor->outcome) {
        decision.choice_count = successor->outcome->detail->choice_count;
        memcpy(decision.choices, successor->outcome->detail->choices, sizeof decision.choices);
    }
    return decision;
}
