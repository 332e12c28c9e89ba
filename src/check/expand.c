// SPDX-License-Identifier: MIT
#include "check/expand.h"

#include <stdlib.h>

#include "check/event.h"
#include "check/light.h"

int expander_init(struct expander *expander, struct model *model, struct lore *lore)
{
    *expander = (struct expander){.model = model, .room = 256, .change_room = 1024};
    expander->successors = malloc(expander->room * sizeof *expander->successors);
    expander->changes = malloc(expander->change_room * sizeof *expander->changes);
    expander->foresight.habits = &model->habits;
    const int error = stepper_init(&expander->stepper, model, lore);
    if (error || memo_init(&expander->foresight.known) || memo_init(&expander->quiet) ||
        commuting_init(&expander->commuting, model) || symmetry_init(&expander->symmetry, model) ||
        !expander->successors || !expander->changes)
        return CV_ENOMEM;
    expander->light = may_be_light(expander);
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

static void deliver(struct expander *expander, uint32_t part, const struct contents *list,
                    const struct outcome *outcome)
{
    const struct model *model = expander->model;
    struct event event = event_delivery(model, part, list);
    if (model->setting.scenario->unordered) {
        deliveries_unordered(expander, &event, expander->state[part]);
        return;
    }
    event.expected = outcome;
    event_take(expander, &event);
}

/* Need that node not be told of that one's loss? It died unnoticed, or is cut off because somebody did. */
static bool is_missed(const struct expander *expander, cv_node other)
{
    const uint32_t missed = world_of(expander)->missed;
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
static void reports(struct expander *expander, cv_node node, const struct place *place)
{
    const uint32_t reach = setting_reach(&expander->model->setting, &world_of(expander)->apart, expander->alive, node);
    for (cv_node other = 0; other < expander->model->setting.nodes; other++) {
        const bool lost = !(reach & 1u << other);
        if ((place->back | place->unheard) & 1u << other) {
            report_return(expander, node, other, place->back & 1u << other);
            continue;
        }
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
        if (cv_links_have(&world_of(expander)->apart, one, other) ||
            (world_of(expander)->cuts && expander->alive >> one & expander->alive >> other & 1 &&
             may_cut(&expander->model->setting, one, other)))
            event_cut(expander, one, other);
}

/* Who comes back, and links that are cut or healed. */
static void changes(struct expander *expander)
{
    for (cv_node node = 0; node < expander->model->setting.nodes; node++) {
        if (world_of(expander)->recoveries && !(expander->alive & 1u << node))
            recover(expander, node);
        cuts(expander, node);
    }
}

static void faults(struct expander *expander, uint32_t nodes)
{
    for (uint32_t rest = nodes & expander->alive; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        reports(expander, node, model_place(expander->model, expander->state[node]));
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
        const struct place *place = model_place(expander->model, expander->state[node]);
        const uint32_t reach = setting_reach(setting, &world_of(expander)->apart, expander->alive, node);
        const uint32_t known = place->suspects;
        if (place->back | place->unheard)
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
        const bool asks = place->flags & PLACE_ALIVE || world_of(expander)->recoveries;
        if ((place->left && asks) || place->flags & (PLACE_WAITING | PLACE_INSIDE))
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
    return expander->alive | expander->hushed;
}

void expand_delivery(struct expander *expander, uint32_t *state, struct print print, uint32_t part)
{
    begin(expander, state, print);
    expander->wishes = glance(expander);
    deliver(expander, part, model_contents(expander->model, state[part]), NULL);
}

/* ---- in three steps ---- */

static inline void add_prospect(struct expander *expander, enum cv_decision_type type, cv_node node, uint32_t part,
                                const struct contents *list)
{
    struct prospect *prospect = &expander->prospects[expander->prospect_count++];
    prospect->step = step_of(expander->state[node], type, list ? list->first : 0, expander->alive | expander->hushed);
    prospect->at = stepper_expect(&expander->stepper, prospect->step);
    prospect->list = list;
    prospect->part = (uint16_t)part;
    prospect->type = (uint8_t)type;
    prospect->node = (uint8_t)node;
}

void expand_look(struct expander *expander, uint32_t *state, struct outlook *outlook)
{
    static const uint8_t types[] = {
        [GLANCE_CALL] = CV_DECIDE_START, [GLANCE_ASK] = CV_DECIDE_REQUEST, [GLANCE_LEAVE] = CV_DECIDE_LEAVE};
    const struct model *model = expander->model;
    const uint32_t parts = model->parts;
    begin(expander, state, expander->print);
    *outlook = (struct outlook){.first = expander->prospect_count,
                                .alive = expander->alive,
                                .hushed = expander->hushed,
                                .wishes = glance(expander),
                                .over = is_over(expander)};
    for (uint64_t rest = outlook->wishes; rest; rest &= rest - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(rest);
        add_prospect(expander, types[1u << bit % GLANCE_BITS], bit / GLANCE_BITS, 0, NULL);
    }
    for (uint32_t part = model->setting.nodes + 1; part < parts; part++)
        if (state[part])
            add_prospect(expander, CV_DECIDE_DELIVER, model->to[part], part, model_contents(model, state[part]));
    outlook->end = expander->prospect_count;
}

static void look_up(struct expander *expander, uint32_t first)
{
    for (uint32_t i = first; i < expander->prospect_count; i++) {
        struct prospect *it = &expander->prospects[i];
        it->outcome = stepper_expected(it->at, it->step);
    }
}

void expand_look_up(struct expander *expander)
{
    look_up(expander, 0);
}

/* What the node's surroundings do: they need not call or ask, but who is inside leaves some time. */
static void wish(struct expander *expander, const struct prospect *prospect)
{
    struct event event = event_at((enum cv_decision_type)prospect->type, prospect->node, UINT8_MAX);
    event.expected = prospect->outcome;
    event.action = event.type == CV_DECIDE_LEAVE ? must(MUST_LEAVE, event.node) : 0;
    event_take(expander, &event);
}

static void expand_some(struct expander *expander, const struct outlook *outlook, uint32_t nodes)
{
    if (outlook->over)
        return;
    expander->alive = outlook->alive;
    expander->hushed = outlook->hushed;
    expander->wishes = outlook->wishes;
    for (uint32_t i = outlook->first; i < outlook->end; i++) {
        const struct prospect *it = &expander->prospects[i];
        if (!(nodes & 1u << it->node))
            continue;
        if (expander->light && it->outcome && it->outcome->light)
            take_lightly(expander, it);
        else if (it->list)
            deliver(expander, it->part, it->list, it->outcome);
        else
            wish(expander, it);
    }
    if (expander->model->setting.group.absence)
        faults(expander, nodes);
    timeouts(expander, nodes);
}

void expand_all(struct expander *expander, uint32_t *state, struct print print, const struct outlook *outlook)
{
    expander->state = state;
    expander->print = print;
    expand_some(expander, outlook, EVERY_NODE);
}

void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes)
{
    struct outlook outlook;
    expander->print = print;
    expand_look(expander, state, &outlook);
    look_up(expander, outlook.first);
    expand_some(expander, &outlook, nodes);
    expander->prospect_count = outlook.first;
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
    static const char *const names[] = {"exclusion",    "fences-rise", "invariant",
                                        "one-election", "best-wins",   "agreement"};
    return names[__builtin_ctz(wrong)];
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
