// SPDX-License-Identifier: MIT
#include "explore/explored_events.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_network.h"
#include "explore/explored_requests.h"
#include "explore/explored_views.h"

const char *explored_type_name(uint32_t type)
{
    static const char *const names[EVENT_TYPES] = {
        [EVENT_START] = "start",     [EVENT_REQUEST] = "request", [EVENT_LEAVE] = "leave",
        [EVENT_DELIVER] = "deliver", [EVENT_TIMEOUT] = "timeout", [EVENT_TELL] = "tell",
        [EVENT_TRUST] = "trust",     [EVENT_DROP] = "drop",       [EVENT_DUPLICATE] = "duplicate",
        [EVENT_CRASH] = "crash",     [EVENT_MISS] = "miss",       [EVENT_RECOVER] = "recover",
        [EVENT_SUSPECT] = "suspect", [EVENT_CUT] = "cut",         [EVENT_HEAL] = "heal",
        [EVENT_REMARK] = "remark",   [EVENT_VIEW] = "view"};
    return names[type];
}

static struct explored_event event_of(uint32_t type, cv_node node, cv_node peer)
{
    return (struct explored_event){.type = type, .node = node, .peer = peer, .due = CV_NEVER, .partition = UINT32_MAX};
}

static void add(struct explored *world, struct explored_events *events, struct explored_event event)
{
    events->items = explored_room(world, events->items, events->count, &events->room, sizeof *events->items);
    if (world->out_of_memory)
        return;
    event.index = events->count;
    events->items[events->count++] = event;
}

/* ---- starts, requests, exits ---- */

static bool is_caller(const struct explored *world, cv_node node)
{
    const struct cv_scenario *scenario = world->scenario;
    if (scenario->everyone_calls)
        return true;
    for (uint32_t i = 0; i < scenario->caller_count; i++)
        if (scenario->callers[i] == node)
            return true;
    return false;
}

/* An election is called by a node that has not taken part yet; everything else starts where it is to start. */
static bool may_start(const struct explored *world, cv_node node)
{
    const struct explored_node *it = explored_node(world, node);
    if (!(it->flags & EXPLORED_ALIVE) || world->mutex)
        return false;
    if (world->algorithm->problem == CV_ELECTION)
        return it->flags & EXPLORED_FRESH;
    return !(it->flags & EXPLORED_STARTED) && is_caller(world, node);
}

/* Rounds begin everywhere before the first message arrives anywhere. */
static bool is_starting(const struct explored *world)
{
    if (world->mutex || world->algorithm->problem == CV_ELECTION)
        return false;
    for (cv_node node = 0; node < world->nodes; node++)
        if (may_start(world, node) && !explored_is(world, node, EXPLORED_RETURNED))
            return true;
    return false;
}

/* Before that the requests that are due at once are made. */
static void list_view_start(struct explored *world, struct explored_events *events)
{
    struct explored_event event = event_of(EVENT_START, CV_NOBODY, CV_NOBODY);
    event.likely = true;
    event.due = world->present.now;
    if (world->present.unstarted)
        add(world, events, event);
}

static void list_starts(struct explored *world, struct explored_events *events)
{
    for (cv_node node = 0; node < world->nodes; node++) {
        if (!may_start(world, node))
            continue;
        struct explored_event event = event_of(EVENT_START, node, CV_NOBODY);
        event.likely = is_caller(world, node) && !explored_is(world, node, EXPLORED_RETURNED);
        event.due = event.likely ? 0 : CV_NEVER;
        event.order = node;
        add(world, events, event);
    }
}

static void list_requests(struct explored *world, struct explored_events *events)
{
    for (cv_node node = 0; world->mutex && node < world->nodes; node++) {
        const struct explored_node *it = explored_node(world, node);
        if (!(it->flags & EXPLORED_ALIVE) || it->flags & (EXPLORED_WAITING | EXPLORED_INSIDE))
            continue;
        if (it->flags & EXPLORED_OUTSIDE)
            continue; /* it waits for the view */
        struct explored_event event = event_of(EVENT_REQUEST, node, CV_NOBODY);
        const struct explored_request request = explored_next_request(world, node);
        event.due = request.due;
        event.order = request.order;
        event.likely = event.due != CV_NEVER;
        add(world, events, event);
    }
    for (cv_node node = 0; world->mutex && node < world->nodes; node++) {
        const struct explored_node *it = explored_node(world, node);
        if (!(it->flags & EXPLORED_INSIDE))
            continue;
        struct explored_event event = event_of(EVENT_LEAVE, node, CV_NOBODY);
        event.likely = it->leave_due != CV_NEVER;
        event.due = it->leave_due;
        event.order = it->order;
        add(world, events, event);
    }
}

/* ---- messages and timers ---- */

uint32_t explored_place(const struct explored_message *message)
{
    uint32_t place = 0;
    for (const struct explored_message *it = message->before; it; it = it->before)
        place += it->content.from == message->content.from && it->content.to == message->content.to;
    return place;
}

bool explored_is_heard(const struct explored *world, const struct explored_event *event)
{
    switch ((enum explored_type)event->type) {
    case EVENT_TELL:
    case EVENT_SUSPECT:
        return world->algorithm->suspect;
    case EVENT_TRUST:
        return world->algorithm->trust;
    default:
        return true;
    }
}

bool explored_is_over(struct explored *world)
{
    const uint64_t end = explored_end(world);
    if (end > world->present.now || world->present.unstarted)
        return false;
    for (const struct explored_message *it = world->present.first; it; it = it->after)
        if (it->due <= end)
            return false;
    return true;
}

/* On a link only the first may arrive. The bits say on which links there was one before. */
static void list_messages(struct explored *world, struct explored_events *events)
{
    const size_t nodes = world->nodes;
    const uint64_t end = explored_end(world);
    const bool starting = is_starting(world);
    uint32_t *met = world->scenario->unordered || starting ? NULL : calloc((nodes * nodes + 31) / 32, sizeof *met);
    if (!met && !world->scenario->unordered && !starting) {
        world->out_of_memory = true;
        return;
    }
    for (struct explored_message *it = world->present.first; it && !starting; it = it->after) {
        const size_t bit = it->content.from * nodes + it->content.to;
        if (met && met[bit / 32] >> bit % 32 & 1)
            continue;
        if (met)
            met[bit / 32] |= 1u << bit % 32;
        struct explored_event event = event_of(EVENT_DELIVER, it->content.to, it->content.from);
        event.message = it;
        event.likely = it->due <= end;
        event.due = event.likely ? it->due : CV_NEVER;
        event.order = it->serial;
        add(world, events, event);
    }
    free(met);
}

static void list_timers(struct explored *world, struct explored_events *events)
{
    const bool under_way = world->timers && (explored_under_way(world) || is_starting(world));
    const uint64_t end = world->timers ? explored_end(world) : CV_NEVER;
    for (cv_node node = 0; world->timers && node < world->nodes; node++)
        for (uint32_t timer = 0; timer < world->timers; timer++) {
            const struct explored_node *it = explored_node(world, node);
            if (!it->timers[timer] || !(it->flags & EXPLORED_ALIVE))
                continue;
            struct explored_event event = event_of(EVENT_TIMEOUT, node, CV_NOBODY);
            event.timer = timer;
            event.early = under_way;
            event.likely = !under_way && it->timers[timer] - 1 <= end;
            event.due = it->timers[timer] - 1 <= end ? it->timers[timer] - 1 : CV_NEVER;
            event.order = it->timer_orders[timer];
            add(world, events, event);
        }
}

/* ---- the detector ---- */

static void list_reports(struct explored *world, struct explored_events *events)
{
    for (cv_node other = 0; world->group.absence && other < world->nodes; other++)
        for (cv_node node = 0; node < world->nodes; node++) {
            const bool back = explored_alive(world, node) && explored_has(world, node, SET_BACK, other);
            if (!back && !explored_may_tell(world, node, other))
                continue;
            struct explored_event event = event_of(back ? EVENT_TRUST : EVENT_TELL, node, other);
            event.likely = back || explored_to_tell(world, node, other);
            const uint64_t due = explored_report_due(world, node, other, &event.order);
            event.due = event.likely ? due : CV_NEVER;
            add(world, events, event);
        }
}

static void list_view(struct explored *world, struct explored_events *events)
{
    struct explored_event event = event_of(EVENT_VIEW, CV_NOBODY, CV_NOBODY);
    event.likely = true;
    event.order = UINT64_MAX; /* after what the detector reports at the same time */
    if (explored_view_due(world, &event.due, &event.peer))
        add(world, events, event);
}

/* ---- faults ---- */

/* Can that planned fault still happen? */
static bool is_possible(const struct explored *world, const struct explored_fault *fault)
{
    switch ((enum explored_type)fault->type) {
    case EVENT_CRASH:
        return explored_alive(world, fault->node);
    case EVENT_RECOVER:
        return !explored_alive(world, fault->node);
    case EVENT_SUSPECT:
        return explored_alive(world, fault->node);
    case EVENT_HEAL:
        return world->partitioned[fault->partition]; /* it may have been healed before */
    default:
        return true;
    }
}

static void list_planned(struct explored *world, struct explored_events *events)
{
    uint32_t *at = &world->present.planned_done;
    while (*at < world->planned_count && !is_possible(world, &world->planned[*at]))
        ++*at;
    if (*at == world->planned_count)
        return;
    const struct explored_fault *fault = &world->planned[*at];
    struct explored_event event = event_of(fault->type, fault->node, fault->peer);
    event.partition = fault->partition;
    event.due = fault->due;
    event.order = *at;
    event.planned = event.likely = true;
    add(world, events, event);
}

static void list_faults(struct explored *world, struct explored_events *events)
{
    for (enum explored_type type = EVENT_DROP; type <= EVENT_DUPLICATE; type++)
        for (struct explored_message *it = world->present.first; it; it = it->after) {
            struct explored_event event = event_of(type, it->content.to, it->content.from);
            event.message = it;
            add(world, events, event);
        }
    for (enum explored_type type = EVENT_CRASH; type <= EVENT_RECOVER; type++)
        for (cv_node node = 0; node < world->nodes; node++)
            if (type == EVENT_RECOVER ? !explored_alive(world, node)
                                      : explored_alive(world, node) && world->present.alive > 1)
                add(world, events, event_of(type, node, CV_NOBODY));
    for (uint32_t i = 0; i < world->scenario->partition_count; i++) {
        struct explored_event event = event_of(EVENT_HEAL, CV_NOBODY, CV_NOBODY);
        event.partition = i;
        if (world->partitioned[i])
            add(world, events, event);
    }
}

/* ---- all of them ---- */

/* At a tick of the simulator faults come first, then reports, messages and alarms. Before all that, what starts it. */
static int rank(const struct explored_event *event)
{
    if (event->planned)
        return 1;
    switch ((enum explored_type)event->type) {
    case EVENT_START:
        return event->node == CV_NOBODY ? 5 : 0;
    case EVENT_TELL:
    case EVENT_TRUST:
    case EVENT_VIEW:
        return 2;
    case EVENT_DELIVER:
        return 3;
    default:
        return 4;
    }
}

/* Requests at time 0, and those that follow an exit or a view at once, come before everything; then a view starts. */
static bool is_at_once(const struct explored_event *event)
{
    return event->type == EVENT_START ? event->node == CV_NOBODY
                                      : event->type == EVENT_REQUEST && (!event->due || !event->order);
}

/* A partition from the start is there before anybody starts. */
static bool is_given(const struct explored_event *event)
{
    return event->planned && !event->due;
}

/* Messages and alarms of one tick come node by node; messages to a node in the order of their senders. */
static uint64_t turn(const struct explored *world, const struct explored_event *event)
{
    const uint64_t node = (uint64_t)event->node << 32;
    switch (rank(event)) {
    case 3:
        return node | cv_arrival_rank(world->nodes, cv_arrival_ring(&world->group), event->node, event->peer);
    case 4:
        return is_at_once(event) ? 0 : node;
    default:
        return 0;
    }
}

static bool comes_before(const struct explored *world, const struct explored_event *one,
                         const struct explored_event *other)
{
    if (is_given(one) != is_given(other))
        return is_given(one);
    if (is_at_once(one) != is_at_once(other))
        return is_at_once(one);
    if (one->due != other->due)
        return one->due < other->due;
    if (rank(one) != rank(other))
        return rank(one) < rank(other);
    if (turn(world, one) != turn(world, other))
        return turn(world, one) < turn(world, other);
    return one->order < other->order;
}

int explored_list(struct explored *world, struct explored_events *events, bool faults)
{
    events->count = 0;
    list_starts(world, events);
    list_requests(world, events);
    list_view_start(world, events);
    list_messages(world, events);
    list_timers(world, events);
    list_reports(world, events);
    list_view(world, events);
    list_planned(world, events);
    events->next = UINT64_MAX;
    for (uint64_t i = 0; i < events->count; i++)
        if (events->items[i].due <= world->scenario->until &&
            (events->next == UINT64_MAX || comes_before(world, &events->items[i], &events->items[events->next])))
            events->next = i;
    if (faults)
        list_faults(world, events);
    world->event_indices = explored_event_indices(world, events);
    return world->out_of_memory ? CV_ENOMEM : 0;
}

uint64_t explored_event_indices(const struct explored *world, const struct explored_events *events)
{
    return events->count + 2 * (uint64_t)world->nodes * world->nodes;
}

void explored_events_free(struct explored_events *events)
{
    free(events->items);
    *events = (struct explored_events){0};
}

bool explored_find(struct explored *world, const struct explored_events *events, uint64_t index,
                   struct explored_event *event)
{
    const uint64_t nodes = world->nodes, beyond = index - events->count;
    if (index < events->count) {
        *event = events->items[index];
        return true;
    }
    if (beyond >= 2 * nodes * nodes)
        return false;
    const cv_node one = (cv_node)(beyond / nodes % nodes), other = (cv_node)(beyond % nodes);
    if (beyond < nodes * nodes) {
        *event = event_of(EVENT_SUSPECT, one, other);
        event->index = index;
        return one != other && explored_alive(world, one) && explored_alive(world, other) &&
               !explored_has(world, one, SET_SUSPECTS, other);
    }
    const size_t bit = (size_t)one * nodes + other;
    const bool cut = one < other && world->cut[bit / 32] >> bit % 32 & 1;
    *event = event_of(cut ? EVENT_HEAL : EVENT_CUT, one, other);
    event->index = index;
    return one < other;
}

struct cv_decision explored_decision(const struct explored *world, const struct explored_event *event)
{
    static const enum cv_decision_type types[EVENT_TYPES] = {
        [EVENT_START] = CV_DECIDE_START,     [EVENT_REQUEST] = CV_DECIDE_REQUEST, [EVENT_LEAVE] = CV_DECIDE_LEAVE,
        [EVENT_DELIVER] = CV_DECIDE_DELIVER, [EVENT_TIMEOUT] = CV_DECIDE_TIMEOUT, [EVENT_TELL] = CV_DECIDE_TELL,
        [EVENT_TRUST] = CV_DECIDE_TRUST,     [EVENT_CRASH] = CV_DECIDE_CRASH,     [EVENT_MISS] = CV_DECIDE_MISS,
        [EVENT_RECOVER] = CV_DECIDE_RECOVER, [EVENT_SUSPECT] = CV_DECIDE_SUSPECT, [EVENT_CUT] = CV_DECIDE_CUT,
        [EVENT_HEAL] = CV_DECIDE_HEAL,       [EVENT_DROP] = CV_DECIDE_DELIVER,    [EVENT_DUPLICATE] = CV_DECIDE_DELIVER,
    };
    (void)world;
    return (struct cv_decision){.type = types[event->type],
                                .node = event->node,
                                .peer = event->peer,
                                .which = event->type == EVENT_TIMEOUT ? event->timer
                                         : event->message             ? explored_place(event->message)
                                                                      : 0,
                                .sent = CV_WHOLE};
}

static bool is_meant(const struct explored_event *event, const struct cv_decision *decision)
{
    const struct cv_decision other = explored_decision(NULL, event);
    return event->type != EVENT_DROP && event->type != EVENT_DUPLICATE && other.type == decision->type &&
           other.node == decision->node && other.peer == decision->peer && other.which == decision->which;
}

bool explored_match(struct explored *world, const struct explored_events *events, const struct cv_decision *decision,
                    struct explored_event *event)
{
    const uint64_t nodes = world->nodes;
    for (uint64_t i = 0; i < events->count; i++)
        if (is_meant(&events->items[i], decision)) {
            *event = events->items[i];
            return true;
        }
    if (decision->node >= nodes || decision->peer >= nodes)
        return false;
    cv_node one = decision->node, other = decision->peer;
    if (decision->type == CV_DECIDE_SUSPECT)
        return explored_find(world, events, events->count + one * nodes + other, event);
    if (decision->type != CV_DECIDE_CUT && decision->type != CV_DECIDE_HEAL)
        return false;
    if (one > other) {
        one = decision->peer;
        other = decision->node;
    }
    return explored_find(world, events, events->count + nodes * nodes + one * nodes + other, event) &&
           (event->type == EVENT_CUT) == (decision->type == CV_DECIDE_CUT);
}
