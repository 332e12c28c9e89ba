// SPDX-License-Identifier: MIT
#include "check/expand.h"

#include <stdlib.h>

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
    const int error = stepper_init(&expander->stepper, model);
    return error || !expander->successors || !expander->changes ? CV_ENOMEM : 0;
}

void expander_free(struct expander *expander)
{
    free(expander->successors);
    free(expander->changes);
    stepper_free(&expander->stepper);
}

/* ---- one successor ---- */

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

static void set_world(struct expander *expander, struct successor *successor, const struct world *world)
{
    const uint32_t part = expander->model->setting.nodes, number = model_add_world(expander->model, world);
    add_print(successor, print_minus(model_print(number, true), model_print(expander->state[part], true)));
    set(expander, part, number);
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

static void make_room(struct expander *expander)
{
    if (expander->count == expander->room) {
        struct successor *more = realloc(expander->successors, 2 * expander->room * sizeof *more);
        if (more) {
            expander->successors = more;
            expander->room *= 2;
        }
    }
    if (expander->change_count + MOST_PARTS > expander->change_room) {
        struct change *more = realloc(expander->changes, 2 * expander->change_room * sizeof *more);
        if (more) {
            expander->changes = more;
            expander->change_room *= 2;
        }
    }
}

void expand_set(struct expander *expander, struct successor *successor, uint32_t part, uint32_t number)
{
    if (part < expander->model->setting.nodes)
        set_place(expander, successor, part, number);
    else
        set_contents(expander, successor, part, number);
}

/* Keeps the successor that the state has been made into, and makes the state what it was. */
static void keep(struct expander *expander, struct successor *successor)
{
    if (expander->model->setting.algorithm->counters)
        recount(expander, successor);
    if (expander->count == expander->room || expander->change_count + MOST_PARTS > expander->change_room)
        make_room(expander);
    if (expander->count == expander->room || expander->change_count + MOST_PARTS > expander->change_room) {
        expander->model->out_of_memory = true;
        expander->count = expander->change_count = 0;
    }
    struct successor *kept = &expander->successors[expander->count++];
    *kept = *successor;
    kept->first = expander->change_count;
    kept->count = expander->touch_count;
    for (uint32_t i = 0; i < expander->touch_count; i++)
        expander->changes[expander->change_count++] =
            (struct change){expander->touched[i], expander->state[expander->touched[i]]};
    while (expander->touch_count) {
        expander->touch_count--;
        expander->state[expander->touched[expander->touch_count]] = expander->old[expander->touch_count];
    }
    expander->obliged += successor->action != 0;
}

/* ---- steps ---- */

/* Something that can happen: a handler call, and what comes with it. */
struct event {
    struct successor successor;
    uint32_t argument;
    uint32_t part, rest; /* the channel it takes a message from, or 0, and what is left there */
    uint64_t time;       /* that passes before it */
    bool mistake;        /* of the detector */
};

static bool somebody_else_inside(const struct expander *expander, cv_node node)
{
    for (cv_node other = 0; other < expander->model->setting.nodes; other++)
        if (other != node && model_place(expander->model, expander->state[other])->flags & PLACE_INSIDE)
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
    if (counted) {
        struct world world = *before;
        world.highest = outcome->fence;
        set_world(expander, successor, &world);
    }
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
        if (channel_to(model, part) == node && expander->state[part])
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
            set(expander, event->part, event->rest);
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

/* The same step, but the node dies after sending some of its messages. Before the first is as good as not at all. */
static void cut_short(struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    const bool may_miss = world_of(expander)->misses > 0;
    for (uint32_t sent = 1; sent < outcome->send_count; sent++)
        for (uint32_t missed = 0; missed <= may_miss; missed++) {
            struct successor successor = event->successor;
            successor.print = expander->print;
            successor.outcome = outcome;
            successor.sent = sent;
            happen(expander, &successor, event);
            send(expander, &successor, outcome, sent);
            die(expander, &successor, missed);
            keep(expander, &successor);
        }
}

/* What an event leads to, for every outcome of its step. */
static void take(struct expander *expander, const struct event *event)
{
    const cv_node node = event->successor.node;
    const uint32_t alive = expander->alive; /* where nobody can die that is everybody */
    uint32_t place = expander->state[node];
    if (event->time)
        place = stepper_age(&expander->stepper, place, event->time);
    const struct step *step =
        stepper_step(&expander->stepper, place, (enum cv_decision_type)event->successor.type, event->argument, alive);
    for (uint32_t i = 0; step && i < step->count; i++) {
        const struct outcome *outcome = step->outcomes[i];
        struct successor successor = event->successor;
        successor.print = expander->print;
        successor.outcome = outcome;
        successor.sent = CV_WHOLE;
        successor.visible = outcome->flags & (OUTCOME_ENTERED | OUTCOME_LEFT | OUTCOME_FOLLOWS);
        happen(expander, &successor, event);
        if (outcome->flags)
            successor.wrong = (uint8_t)judge(expander, &successor, outcome);
        add_print(&successor, outcome->change);
        set(expander, node, outcome->place);
        send(expander, &successor, outcome, outcome->send_count);
        keep(expander, &successor);
        if (__builtin_expect(may_die(expander), 0))
            cut_short(expander, event, outcome);
    }
}

/* ---- events ---- */

static struct event event_at(enum cv_decision_type type, cv_node node, cv_node peer)
{
    return (struct event){.successor = {.type = (uint8_t)type, .node = (uint8_t)node, .peer = (uint8_t)peer}};
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
        event.successor.action = must(MUST_LEAVE, node);
        take(expander, &event);
    } else if (place->left && !(place->flags & PLACE_WAITING)) {
        event = event_at(CV_DECIDE_REQUEST, node, UINT8_MAX);
        take(expander, &event);
    }
}

static void deliveries(struct expander *expander, uint32_t part)
{
    const struct model *model = expander->model;
    const bool unordered = model->setting.scenario->unordered;
    struct event event = event_at(CV_DECIDE_DELIVER, channel_to(model, part), channel_from(model, part));
    event.successor.action = must(MUST_DELIVER, model->pair[part]);
    event.part = part;
    uint32_t contents = expander->state[part], last = UINT32_MAX;
    const uint32_t all = contents;
    do {
        const struct contents *list = model_contents(model, contents);
        if (list->first != last) { /* equal ones stand next to each other: one of them will do */
            if (unordered)
                event.successor.action = must(MUST_DELIVER_ONE, list->first);
            event.argument = list->first;
            event.rest = stepper_take(&expander->stepper, all, event.successor.place);
            take(expander, &event);
        }
        last = list->first;
        contents = list->rest;
        event.successor.place++;
    } while (unordered && contents);
}

/* The failure detector: the truth, late; or, as long as the budget lasts, a mistake. */
static void reports(struct expander *expander, cv_node node, const struct place *place)
{
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const bool dead = !(expander->alive & 1u << other);
        const struct world *world = world_of(expander);
        if (other == node || place->suspects & 1u << other || (!dead && !world->suspicions))
            continue;
        struct event event = event_at(dead ? CV_DECIDE_TELL : CV_DECIDE_SUSPECT, node, other);
        event.argument = other;
        event.mistake = !dead;
        if (dead && !(world->missed & 1u << other))
            event.successor.action = must(MUST_TELL, node * CV_CHECK_MOST_NODES + other);
        take(expander, &event);
    }
}

static void crashes(struct expander *expander, cv_node node)
{
    const bool may_miss = world_of(expander)->misses > 0;
    for (uint32_t missed = 0; missed <= may_miss; missed++) {
        struct successor successor = {.type = missed ? CV_DECIDE_MISS : CV_DECIDE_CRASH,
                                      .node = (uint8_t)node,
                                      .peer = UINT8_MAX,
                                      .sent = CV_WHOLE,
                                      .print = expander->print};
        die(expander, &successor, missed);
        keep(expander, &successor);
    }
}

/* ---- timers ---- */

/* Is something under way that might still stop a timer: a message, or a report of the detector? */
static bool is_quiet(const struct expander *expander)
{
    const struct model *model = expander->model;
    const uint32_t *state = expander->state;
    const uint32_t dead = ~expander->alive & ((1u << model->setting.nodes) - 1) & ~world_of(expander)->missed;
    for (uint32_t part = model->setting.nodes + 1; part < model->parts; part++)
        if (state[part])
            return false;
    for (cv_node node = 0; dead && node < model->setting.nodes; node++)
        if (expander->alive & 1u << node && dead & ~model_place(model, state[node])->suspects)
            return false;
    return true;
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
            event.successor.place = (uint8_t)timer;
            event.successor.action = must(MUST_FIRE, node * CV_MAX_TIMERS + timer);
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

void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes)
{
    const struct model *model = expander->model;
    expander->state = state;
    expander->print = print;
    expander->alive = model_alive(model, state);
    if (is_over(expander))
        return;
    const bool faults = model->setting.group.absence;
    for (cv_node node = 0; node < model->setting.nodes; node++) {
        if (!(expander->alive & nodes & 1u << node))
            continue;
        const struct place *place = model_place(model, state[node]);
        if (place->flags & (PLACE_FRESH | PLACE_INSIDE) || place->left)
            wishes(expander, node, place);
        if (faults)
            reports(expander, node, place);
        if (faults && may_die(expander))
            crashes(expander, node);
    }
    for (uint32_t part = model->setting.nodes + 1; part < model->parts; part++)
        if (state[part] && nodes & 1u << channel_to(model, part))
            deliveries(expander, part);
    timeouts(expander, nodes);
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
        decision.choice_count = successor->outcome->choice_count;
        memcpy(decision.choices, successor->outcome->choices, sizeof decision.choices);
    }
    return decision;
}
