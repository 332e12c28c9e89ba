// SPDX-License-Identifier: MIT
#include "check/expand.h"

#include <stdlib.h>

/* So much that is remembered is not in the nearest cache any more. */
#define WORTH_FETCHING ((size_t)1 << 19)

enum action_kind { MUST_DELIVER = 1, MUST_DELIVER_ONE, MUST_LEAVE, MUST_FIRE, MUST_TELL };

static uint32_t must(enum action_kind kind, uint32_t which)
{
    return (uint32_t)kind << 28 | which;
}

int expander_init(struct expander *expander, struct model *model)
{
    *expander = (struct expander){.model = model, .room = 256, .change_room = 1024};
    expander->successors = malloc(expander->room * sizeof *expander->successors);
    expander->changes = malloc(expander->change_room * sizeof *expander->changes);
    expander->foresight.habits = &model->habits;
    const int error = stepper_init(&expander->stepper, model);
    return error || memo_init(&expander->foresight.known) || memo_init(&expander->quiet) ||
                   commuting_init(&expander->commuting, model) || symmetry_init(&expander->symmetry, model) ||
                   !expander->successors || !expander->changes
               ? CV_ENOMEM
               : 0;
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

/* ---- one successor ---- */

/* Changes a part that has not changed in this step. */
static inline void set_first(struct expander *expander, uint32_t part, uint32_t number)
{
    expander->touched[expander->touch_count] = part;
    expander->old[expander->touch_count++] = expander->state[part];
    expander->state[part] = number;
}

/* A part may change twice in a step: it is touched once. */
static inline void set(struct expander *expander, uint32_t part, uint32_t number)
{
    uint32_t i = 0;
    while (i < expander->touch_count && expander->touched[i] != part)
        i++;
    if (i == expander->touch_count) {
        expander->touched[i] = part;
        expander->old[i] = expander->state[part];
        expander->touch_count++;
    }
    expander->state[part] = number;
}

static inline void add_print(struct successor *successor, struct print change)
{
    successor->print = print_plus(successor->print, change);
}

static void set_place(struct expander *expander, struct successor *successor, cv_node node, uint32_t number)
{
    add_print(successor, print_minus(model_print(number, false), model_print(expander->state[node], false)));
    set(expander, node, number);
}

static void put_world(struct expander *expander, struct successor *successor, uint32_t number)
{
    const uint32_t part = expander->model->setting.nodes;
    add_print(successor, print_minus(model_print(number, true), model_print(expander->state[part], true)));
    set(expander, part, number);
}

static void set_world(struct expander *expander, struct successor *successor, const struct world *world)
{
    put_world(expander, successor, model_add_world(expander->model, world));
}

static inline void set_contents(struct expander *expander, struct successor *successor, uint32_t part, uint32_t number)
{
    const struct model *model = expander->model;
    add_print(successor,
              print_minus(model_contents(model, number)->here, model_contents(model, expander->state[part])->here));
    set(expander, part, number);
}

static const struct world *world_of(const struct expander *expander)
{
    return model_world(expander->model, expander->state[expander->model->setting.nodes]);
}

static bool make_room(struct expander *expander)
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

/* Begins a successor; it is finished with keep(). */
static inline struct successor *open_successor(struct expander *expander)
{
    if (__builtin_expect(
            expander->count == expander->room || expander->change_count + MOST_PARTS > expander->change_room, 0) &&
        !make_room(expander)) {
        expander->model->out_of_memory = true;
        expander->count = expander->change_count = 0;
    }
    struct successor *successor = &expander->successors[expander->count];
    successor->print = expander->print;
    return successor;
}

void expand_set(struct expander *expander, struct successor *successor, uint32_t part, uint32_t number)
{
    if (part < expander->model->setting.nodes)
        set_place(expander, successor, part, number);
    else
        set_contents(expander, successor, part, number);
}

/* HUSHED, and how far clocks go, if nobody will ask any more; otherwise 0. */
static uint32_t hushed(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    uint64_t latest = 0;
    for (cv_node node = 0; node < setting->nodes; node++) {
        const struct place *place = model_place(expander->model, expander->state[node]);
        if (place->left)
            return 0;
        if (place->flags & PLACE_WAITING && setting->caps && place->asked + 1ull > latest)
            latest = place->asked + 1ull;
    }
    return latest > HUSH_MOST ? 0 : HUSHED | (uint32_t)latest << HUSH_SHIFT;
}

static void hush_again(struct expander *expander, struct successor *successor)
{
    const uint32_t now = hushed(expander);
    if (now && now != expander->hushed)
        hush(expander, successor, now);
}

/* Keeps the successor that the state has been made into, and makes the state what it was. */
static inline void keep(struct expander *expander, struct successor *successor)
{
    if (__builtin_expect(expander->model->setting.algorithm->counters != NULL, 0))
        recount(expander, successor);
    if (__builtin_expect(expander->model->setting.hushes, 0))
        hush_again(expander, successor);
    successor->key = successor->print;
    if (__builtin_expect(expander->symmetry.count > 1, 0))
        successor->key = symmetry_print(&expander->symmetry, expander->state, successor->print);
    struct change *changes = &expander->changes[expander->change_count];
    successor->first = expander->change_count;
    successor->count = expander->touch_count;
    for (uint32_t i = 0; i < expander->touch_count; i++) {
        const uint32_t part = expander->touched[i];
        changes[i] = (struct change){part, expander->state[part]};
        expander->state[part] = expander->old[i];
    }
    expander->change_count += expander->touch_count;
    expander->touch_count = 0;
    expander->obliged += successor->action != 0;
    expander->count++;
}

/* ---- steps ---- */

/* Something that can happen: a handler call, and what comes with it. */
struct event {
    uint8_t type, node, peer, place;
    uint32_t action;
    uint32_t argument;
    uint32_t part, rest;            /* the channel it takes a message from, or 0, and what is left there */
    const struct outcome *expected; /* what it leads to, if that has been looked up; otherwise NULL */
    uint64_t time;                  /* that passes before it */
    bool mistake;                   /* of the detector */
};

static bool somebody_else_inside(const struct expander *expander, cv_node node)
{
    for (cv_node other = 0; other < expander->model->setting.nodes; other++)
        if (other != node && model_glance(expander->model, expander->state[other]) & GLANCE_INSIDE)
            return true;
    return false;
}

static enum wrong enter(struct expander *expander, struct successor *successor, const struct outcome *outcome)
{
    const struct world *before = world_of(expander);
    const bool counted = expander->model->setting.claims & CV_FENCES_RISE;
    if (outcome->flags & OUTCOME_TWICE || somebody_else_inside(expander, successor->node))
        return WRONG_EXCLUSION;
    if (counted && outcome->fence <= before->highest)
        return WRONG_FENCE;
    const uint32_t part = expander->model->setting.nodes;
    if (counted)
        put_world(expander, successor, stepper_raise(&expander->stepper, expander->state[part], outcome->fence));
    return WRONG_NOTHING;
}

static bool nothing_has_failed(const struct expander *expander)
{
    const struct cv_check_options *options = &expander->model->setting.options;
    const struct world *world = world_of(expander);
    return world->crashes == options->crashes && world->suspicions == options->suspicions;
}

/* Does the node now follow another leader than somebody else does? */
static bool strays(const struct expander *expander, cv_node node, const struct outcome *outcome)
{
    const struct place *mine = model_place(expander->model, outcome->place);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const struct place *theirs = model_place(expander->model, expander->state[other]);
        if (other != node && theirs->flags & mine->flags & PLACE_KNOWS && theirs->leader != mine->leader)
            return true;
    }
    return false;
}

static enum wrong judge(struct expander *expander, struct successor *successor, const struct outcome *outcome)
{
    enum wrong wrong = WRONG_NOTHING;
    if (outcome->flags & OUTCOME_ENTERED)
        wrong = enter(expander, successor, outcome);
    if (wrong)
        return wrong;
    if (outcome->flags & OUTCOME_BROKEN)
        return WRONG_INVARIANT;
    if (outcome->flags & OUTCOME_RECALLED)
        return WRONG_RECALL;
    if (!nothing_has_failed(expander))
        return WRONG_NOTHING;
    if (outcome->flags & OUTCOME_MISLED)
        return WRONG_LEADER;
    return outcome->flags & OUTCOME_FOLLOWS && strays(expander, successor->node, outcome) ? WRONG_AGREEMENT
                                                                                          : WRONG_NOTHING;
}

static inline void send(struct expander *expander, struct successor *successor, const struct outcome *outcome,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sending *sending = &outcome->sends[i];
        if (expander->alive & 1u << sending->to)
            set_contents(expander, successor, sending->part,
                         stepper_put(&expander->stepper, expander->state[sending->part], sending->message));
    }
}

/* What is on its way to the dead is as good as lost; what they sent still arrives. */
static void die(struct expander *expander, struct successor *successor, bool missed)
{
    const struct model *model = expander->model;
    const cv_node node = successor->node;
    struct world world = *world_of(expander);
    set_place(expander, successor, node, model->dead[node]);
    for (uint32_t part = model->setting.nodes + 1; part < model->parts; part++)
        if (model->to[part] == node && expander->state[part])
            set_contents(expander, successor, part, 0);
    world.crashes--;
    world.misses -= missed;
    world.missed |= (uint32_t)missed << node;
    successor->missed = missed;
    successor->action = 0;
    set_world(expander, successor, &world);
}

/* What comes with the event, before the handler's own doing. */
static inline void happen(struct expander *expander, struct successor *successor, const struct event *event)
{
    const struct model *model = expander->model;
    if (event->part) {
        const struct contents *list = model_contents(model, expander->state[event->part]);
        if (event->rest == list->rest) {
            add_print(successor, list->gone);
            set_first(expander, event->part, event->rest);
        } else {
            set_contents(expander, successor, event->part, event->rest);
        }
    }
    for (cv_node node = 0; event->time && node < model->setting.nodes; node++)
        if (expander->alive & 1u << node)
            set_place(expander, successor, node, stepper_age(&expander->stepper, expander->state[node], event->time));
    if (event->mistake) {
        struct world world = *world_of(expander);
        world.suspicions--;
        set_world(expander, successor, &world);
    }
}

/* One life is always left. */
static bool may_die(const struct expander *expander)
{
    return world_of(expander)->crashes && expander->alive & (expander->alive - 1);
}

static inline struct successor *open_event(struct expander *expander, const struct event *event,
                                           const struct outcome *outcome)
{
    struct successor *successor = open_successor(expander);
    successor->type = event->type;
    successor->node = event->node;
    successor->peer = event->peer;
    successor->place = event->place;
    successor->action = event->action;
    successor->outcome = outcome;
    successor->sent = CV_WHOLE;
    successor->wrong = WRONG_NOTHING;
    successor->visible = successor->missed = false;
    return successor;
}

/* The same step, but the node dies after sending some of its messages. Before the first is as good as not at all. */
static void cut_short(struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    const bool may_miss = world_of(expander)->misses > 0;
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

/* What an event leads to, for every outcome of its step. */
static void take(struct expander *expander, const struct event *event)
{
    const cv_node node = event->node;
    uint32_t place = expander->state[node];
    if (event->time)
        place = stepper_age(&expander->stepper, place, event->time);
    const struct outcome *outcome = event->expected;
    if (!outcome)
        outcome = stepper_step(&expander->stepper, place, (enum cv_decision_type)event->type, event->argument,
                               expander->alive | expander->hushed);
    for (; outcome; outcome = outcome->next) {
        if (__builtin_expect(outcome->flags & OUTCOME_LATE, 0)) {
            expander->obliged++; /* it has to wait, so this is no end */
            continue;
        }
        struct successor *successor = open_event(expander, event, outcome);
        happen(expander, successor, event);
        if (__builtin_expect(outcome->flags, 0)) {
            successor->visible = outcome->flags & (OUTCOME_ENTERED | OUTCOME_LEFT | OUTCOME_FOLLOWS);
            successor->wrong = (uint8_t)judge(expander, successor, outcome);
        }
        add_print(successor, outcome->change);
        set(expander, node, outcome->place);
        send(expander, successor, outcome, outcome->send_count);
        keep(expander, successor);
        if (__builtin_expect(expander->model->setting.group.absence, 0) && may_die(expander))
            cut_short(expander, event, outcome);
    }
}

/* ---- events ---- */

static struct event event_at(enum cv_decision_type type, cv_node node, cv_node peer)
{
    return (struct event){.type = (uint8_t)type, .node = (uint8_t)node, .peer = (uint8_t)peer};
}

/* What the node's surroundings do: they need not call or ask, but who is inside leaves some time. */
static void wishes(struct expander *expander, cv_node node, const struct place *place)
{
    struct event event;
    if (place->flags & PLACE_FRESH && expander->model->setting.options.callers & 1u << node) {
        event = event_at(CV_DECIDE_START, node, UINT8_MAX);
        take(expander, &event);
    }
    if (place->flags & PLACE_INSIDE) {
        event = event_at(CV_DECIDE_LEAVE, node, UINT8_MAX);
        event.action = must(MUST_LEAVE, node);
        take(expander, &event);
    } else if (place->left && !(place->flags & PLACE_WAITING)) {
        event = event_at(CV_DECIDE_REQUEST, node, UINT8_MAX);
        take(expander, &event);
    }
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
            take(expander, event);
        }
        last = list->first;
        contents = list->rest;
    }
}

static inline void deliveries(struct expander *expander, uint32_t part, uint32_t contents)
{
    const struct model *model = expander->model;
    const struct contents *list = model_contents(model, contents);
    struct event event = {.type = CV_DECIDE_DELIVER,
                          .node = model->to[part],
                          .peer = model->from[part],
                          .action = must(MUST_DELIVER, part),
                          .argument = list->first,
                          .part = part,
                          .rest = list->rest};
    if (model->setting.scenario->unordered) {
        deliveries_unordered(expander, &event, contents);
        return;
    }
    if (expander->expected_at < expander->expected_count)
        event.expected = expander->expected[expander->expected_at++].outcome;
    take(expander, &event);
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
        take(expander, &event);
    }
}

static void crashes(struct expander *expander, cv_node node)
{
    const bool may_miss = world_of(expander)->misses > 0;
    for (uint32_t missed = 0; missed <= may_miss; missed++) {
        const struct event event = event_at(missed ? CV_DECIDE_MISS : CV_DECIDE_CRASH, node, UINT8_MAX);
        struct successor *successor = open_event(expander, &event, NULL);
        die(expander, successor, missed);
        keep(expander, successor);
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
            take(expander, &event);
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
    expander->hushed = expander->model->setting.hushes ? hushed(expander) : 0;
}

uint32_t expand_alive(struct expander *expander, uint32_t *state)
{
    begin(expander, state, expander->print);
    return expander->alive | expander->hushed;
}

void expand_delivery(struct expander *expander, uint32_t *state, struct print print, uint32_t part)
{
    begin(expander, state, print);
    deliveries(expander, part, state[part]);
}

void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes)
{
    const struct model *model = expander->model;
    begin(expander, state, print);
    if (is_over(expander))
        return;
    const bool faults = model->setting.group.absence;
    for (cv_node node = 0; node < model->setting.nodes; node++) {
        if (!(expander->alive & nodes & 1u << node))
            continue;
        if (model_glance(model, state[node]) & GLANCE_WISHES)
            wishes(expander, node, model_place(model, state[node]));
        if (faults)
            reports(expander, node, model_place(model, state[node]));
        if (faults && may_die(expander))
            crashes(expander, node);
    }
    const uint32_t parts = model->parts;
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
