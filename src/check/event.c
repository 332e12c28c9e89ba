// SPDX-License-Identifier: MIT
#include "check/event.h"

#include <stdlib.h>

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

void expand_set(struct expander *expander, struct successor *successor, uint32_t part, uint32_t number)
{
    if (part < expander->model->setting.nodes)
        set_place(expander, successor, part, number);
    else
        set_contents(expander, successor, part, number);
}

uint32_t event_hushed(const struct expander *expander)
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
    const uint32_t now = event_hushed(expander);
    if (now && now != expander->hushed)
        hush(expander, successor, now);
}

/* Keeps the successor that the state has been made into, and makes the state what it was. */
static inline void keep(struct expander *expander, struct successor *successor)
{
    if (__builtin_expect(expander->model->setting.counts, 0))
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
    const bool rises = !are_fences_counted(expander) || outcome->detail->fence > world_of(expander)->highest;
    return (alone ? 0 : WRONG_EXCLUSION) | (rises ? 0 : WRONG_FENCE);
}

static bool nothing_has_failed(const struct expander *expander)
{
    const struct cv_check_options *options = &expander->model->setting.options;
    const struct world *world = world_of(expander);
    return world->crashes == options->crashes && world->suspicions == options->suspicions &&
           world->cuts == options->cuts;
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

uint32_t event_world(struct expander *expander, const struct successor *successor)
{
    const struct outcome *outcome = successor->outcome;
    const uint32_t world = expander->state[expander->model->setting.nodes];
    if (!(outcome->flags & OUTCOME_ENTERED) || !are_fences_counted(expander) || successor->wrong & WRONG_FENCE)
        return world;
    return stepper_raise(&expander->stepper, world, outcome->detail->fence);
}

static inline void send(struct expander *expander, struct successor *successor, const struct outcome *outcome,
                        uint32_t count)
{
    const struct cv_links *apart = expander->model->setting.options.cuts ? &world_of(expander)->apart : NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct sending *sending = &outcome->sends[i];
        if (expander->alive & 1u << sending->to && !(apart && cv_links_have(apart, successor->node, sending->to)))
            set_contents(expander, successor, sending->part,
                         stepper_put(&expander->stepper, expander->state[sending->part], sending->message));
    }
}

/* Of who may come back is kept how often it will still ask, and its clock. */
static uint32_t number_of_dead(struct expander *expander, const struct successor *successor)
{
    struct model *model = expander->model;
    const uint32_t last = successor->outcome ? successor->outcome->place : expander->state[successor->node];
    const struct place *place = model_place(model, last);
    if (!model->setting.options.recoveries)
        return model->dead[successor->node];
    return model_add_place(model, &(struct place){.node = successor->node, .left = place->left, .clock = place->clock});
}

/* What is on its way to the dead is as good as lost; what they sent still arrives. */
static void die(struct expander *expander, struct successor *successor, bool missed)
{
    const struct model *model = expander->model;
    const cv_node node = successor->node;
    struct world world = *world_of(expander);
    set_place(expander, successor, node, number_of_dead(expander, successor));
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

/*
 * Who lived before finds others within reach again, in the world as it is to be: they will be told. `alive` says who
 * lived, the expander who lives.
 */
static void regain(struct expander *expander, struct successor *successor, const struct world *after, uint32_t alive)
{
    struct model *model = expander->model;
    const struct setting *setting = &model->setting;
    const struct world *before = world_of(expander);
    const uint32_t untold = before->missed | (before->missed ? alive : 0);
    for (uint32_t rest = alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t again = setting_reach(setting, &after->apart, expander->alive, node) &
                               ~setting_reach(setting, &before->apart, alive, node);
        const struct intern_record *record = intern_record(&model->places, expander->state[node]);
        struct place *place = again ? malloc(record->length) : NULL;
        if (!place) {
            model->out_of_memory |= again != 0;
            continue;
        }
        memcpy(place, record->bytes, record->length);
        place_regain(setting, place, again, untold);
        set_place(expander, successor, node, model_add_place(model, place));
        free(place);
    }
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
    if (event->returns) {
        struct world world = *world_of(expander);
        world.recoveries--;
        world.missed &= ~event->returns;
        regain(expander, successor, &world, expander->alive & ~event->returns);
        set_world(expander, successor, &world);
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
    successor->place = event->place;
    successor->action = event->action;
    successor->outcome = outcome;
    successor->sent = CV_WHOLE;
    successor->wrong = WRONG_NOTHING;
    successor->visible = successor->missed = successor->light = false;
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
    struct world world = *world_of(expander);
    const bool heals = cv_links_have(&world.apart, one, other);
    const struct event event = {
        .type = heals ? CV_DECIDE_HEAL : CV_DECIDE_CUT, .node = (uint8_t)one, .peer = (uint8_t)other};
    struct successor *successor = open_event(expander, &event, NULL);
    cv_links_flip(&world.apart, one, other);
    if (heals)
        regain(expander, successor, &world, expander->alive);
    else
        world.cuts--;
    set_world(expander, successor, &world);
    keep(expander, successor);
}

void event_take(struct expander *expander, const struct event *event)
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
        if (event_waits(expander, outcome))
            continue;
        struct successor *successor = open_event(expander, event, outcome);
        happen(expander, successor, event);
        if (__builtin_expect(outcome->flags, 0)) {
            event_judge(expander, successor);
            put_world(expander, successor, event_world(expander, successor));
        }
        add_print(successor, outcome->change);
        set(expander, node, outcome->place);
        send(expander, successor, outcome, outcome->send_count);
        keep(expander, successor);
        if (__builtin_expect(expander->model->setting.group.absence, 0) && may_die(expander))
            cut_short(expander, event, outcome);
    }
}
