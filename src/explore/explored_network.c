// SPDX-License-Identifier: MIT
#include "explore/explored_network.h"

#include <stdlib.h>
#include <string.h>

#include "core/scenario/relay.h"
#include "explore/explored_requests.h"
#include "explore/explored_step.h"
#include "explore/explored_views.h"

/* ---- who reaches whom ---- */

static bool link_bit(const struct explored *world, cv_node one, cv_node other)
{
    const size_t bit = (size_t)one * world->nodes + other;
    return world->cut[bit / 32] >> bit % 32 & 1;
}

static void flip_link(struct explored *world, cv_node one, cv_node other)
{
    const size_t bit = (size_t)one * world->nodes + other;
    explored_save(world, &world->cut[bit / 32], sizeof *world->cut);
    world->cut[bit / 32] ^= 1u << bit % 32;
}

bool explored_is_cut(const struct explored *world, cv_node one, cv_node other)
{
    if (!world->present.cuts || one == other)
        return false;
    for (uint32_t i = 0; i < world->scenario->partition_count; i++)
        if (world->partitioned[i] &&
            world->scenario->partitions[i].side[one] != world->scenario->partitions[i].side[other])
            return true;
    return link_bit(world, one, other);
}

static bool is_cut(const void *world, cv_node one, cv_node other)
{
    return explored_is_cut(world, one, other);
}

static bool is_alive(const void *world, cv_node node)
{
    return explored_alive(world, node);
}

uint32_t explored_hops(const struct explored *world, cv_node from, cv_node to)
{
    const struct cv_relay relay = {world->scenario, is_cut, is_alive, world};
    return explored_is_cut(world, from, to) ? cv_relay_hops(&relay, from, to) : 1;
}

void explored_network_changed(struct explored *world)
{
    world->part_known = false;
    world->group.absence = world->present.crashes || world->present.mistakes || world->present.cuts;
    explored_views_refresh(world);
}

/* Gives all that a node reaches its number. `stack` has room for all nodes. */
static void flood(struct explored *world, cv_node from, cv_node *stack)
{
    const struct cv_group *group = &world->group;
    size_t depth = 0;
    world->part[from] = from;
    stack[depth++] = from;
    while (depth) {
        const cv_node here = stack[--depth];
        const uint32_t degree = world->graph ? (uint32_t)(group->edges[here + 1] - group->edges[here]) : world->nodes;
        for (uint32_t i = 0; i < degree; i++) {
            const cv_node there = world->graph ? group->neighbours[group->edges[here] + i] : i;
            if (world->part[there] != UINT32_MAX || !explored_alive(world, there) || !explored_hops(world, here, there))
                continue;
            world->part[there] = from;
            stack[depth++] = there;
        }
    }
}

const uint32_t *explored_parts(struct explored *world)
{
    if (world->part_known)
        return world->part;
    cv_node *stack = malloc((size_t)world->nodes * sizeof *stack);
    if (!stack) {
        world->out_of_memory = true;
        return world->part;
    }
    for (cv_node node = 0; node < world->nodes; node++)
        world->part[node] = UINT32_MAX;
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_alive(world, node) && world->part[node] == UINT32_MAX)
            flood(world, node, stack);
    free(stack);
    world->part_known = true;
    return world->part;
}

bool explored_is_lost(struct explored *world, cv_node node, cv_node other)
{
    if (!explored_alive(world, other))
        return true;
    if (!world->present.cuts && !(world->graph && world->present.crashes))
        return false;
    if (!world->graph)
        return !explored_hops(world, node, other);
    const uint32_t *part = explored_parts(world);
    return part[node] != part[other];
}

/* ---- what the detector has to tell ---- */

static bool is_blind(const struct explored *world, cv_node node, cv_node other)
{
    for (uint32_t i = 0; i < world->scenario->blind_count; i++) {
        const struct cv_pair pair = world->scenario->blindness[i];
        if ((pair.one == CV_NOBODY || pair.one == node) && (pair.other == CV_NOBODY || pair.other == other))
            return true;
    }
    return false;
}

bool explored_may_tell(struct explored *world, cv_node node, cv_node other)
{
    if (!world->group.absence || node == other || !explored_alive(world, node) ||
        explored_has(world, node, SET_BACK, other) || (world->views && !world->algorithm->suspect))
        return false; /* a view tells what changed */
    if (explored_has(world, node, SET_UNHEARD, other))
        return true;
    return !explored_has(world, node, SET_SUSPECTS, other) && explored_is_lost(world, node, other);
}

/* A crash that was missed, and what follows from it for the parts of the network, need not be told. */
bool explored_to_tell(struct explored *world, cv_node node, cv_node other)
{
    if (!explored_may_tell(world, node, other) || is_blind(world, node, other))
        return false;
    if (explored_has(world, node, SET_UNHEARD, other))
        return true;
    if (explored_is(world, other, EXPLORED_MISSED))
        return false;
    return !world->present.missed || !explored_alive(world, other);
}

/*
 * A node that is dead or was is told of by itself; whatever else is lost or found again, by the last change. In a graph
 * the death and the return of a node are news of all others for itself, too.
 */
uint64_t explored_report_due(struct explored *world, cv_node node, cv_node other, uint64_t *order)
{
    const struct explored_node *it = explored_node(world, other);
    const bool back = explored_has(world, node, SET_BACK, other);
    const bool by_itself = !(it->flags & EXPLORED_ALIVE) || it->flags & EXPLORED_RETURNED;
    const struct explored_node *me = explored_node(world, node);
    const bool own = world->graph && me->flags & EXPLORED_RETURNED && it->flags & EXPLORED_ALIVE &&
                     (back || explored_has(world, node, SET_UNHEARD, other));
    const struct explored_news *mine = back ? &me->returned : &me->died, *its = back ? &it->returned : &it->died;
    const struct explored_news *news = own && (!by_itself || mine->order > its->order) ? mine
                                       : by_itself                                     ? its
                                                                                       : &world->present.changed;
    *order = (news->order * world->nodes + other) * world->nodes + node;
    return news->time + world->scenario->detect;
}

bool explored_under_way(struct explored *world)
{
    if (world->present.first)
        return true;
    for (cv_node node = 0; world->group.absence && node < world->nodes; node++)
        for (cv_node other = 0; explored_alive(world, node) && other < world->nodes; other++)
            if (explored_to_tell(world, node, other) || explored_has(world, node, SET_BACK, other))
                return true;
    return false;
}

/* ---- messages under way ---- */

void explored_unlink(struct explored *world, struct explored_message *message)
{
    struct explored_message **from_before = message->before ? &message->before->after : &world->present.first;
    struct explored_message **from_after = message->after ? &message->after->before : &world->present.last;
    if (message->before)
        explored_save(world, from_before, sizeof(void *)); /* `present` is saved already */
    if (message->after)
        explored_save(world, from_after, sizeof(void *));
    *from_before = message->after;
    *from_after = message->before;
    world->present.under_way--;
}

void explored_link(struct explored *world, struct explored_message *message, struct explored_message *before)
{
    before = before ? before : world->present.last;
    message->before = before;
    message->after = before ? before->after : NULL;
    if (before) {
        explored_save(world, &before->after, sizeof before->after);
        before->after = message;
    } else {
        world->present.first = message;
    }
    if (message->after) {
        explored_save(world, &message->after->before, sizeof message);
        message->after->before = message;
    } else {
        world->present.last = message;
    }
    world->present.under_way++;
}

static void lose(struct explored *world, struct explored_message *message)
{
    explored_unlink(world, message);
    explored_tell(world,
                  (struct cv_event){.type = CV_EVENT_LOST, .node = message->content.to, .peer = message->content.from},
                  message);
}

void explored_lose_all(struct explored *world)
{
    while (world->present.first)
        lose(world, world->present.first);
}

void explored_drop(struct explored *world, struct explored_message *message)
{
    lose(world, message);
    world->present.losses++;
}

/* The copy follows the original on its link. The texts count what was sent, not what arrives. */
void explored_duplicate(struct explored *world, struct explored_message *message)
{
    struct explored_message *copy = explored_new_message(world, &message->content);
    if (!copy)
        return;
    copy->due = message->due;
    copy->ahead = message->ahead;
    explored_link(world, copy, message);
    world->present.losses++;
    explored_tell(world,
                  (struct cv_event){.type = CV_EVENT_NOTE,
                                    .node = copy->content.to,
                                    .peer = CV_NOBODY,
                                    .text = "a message to it is under way twice"},
                  NULL);
}

/* ---- faults ---- */

/* Of many changes the last ones count. */
static void want_view(struct explored *world, cv_node node, bool back)
{
    struct explored_present *now = &world->present;
    if (now->change_count == EXPLORED_MOST_CHANGES)
        memmove(now->changes, now->changes + 1, --now->change_count * sizeof *now->changes);
    now->changes[now->change_count++] = (struct explored_change){.time = now->now, .node = node, .back = back};
}

static void network_changes(struct explored *world)
{
    world->present.changed.time = world->present.now;
    world->present.changed.order++;
    explored_network_changed(world);
}

void explored_crash(struct explored *world, cv_node node, bool missed)
{
    struct explored_node *it = explored_node(world, node);
    explored_save_node(world, node);
    explored_end_entry(world, node, true);
    explored_client_crashes(world, node);
    it->flags = (it->flags & EXPLORED_LASTING) | (missed ? EXPLORED_MISSED : 0);
    memset(it->timers, 0, sizeof it->timers);
    world->present.alive--;
    world->present.missed += missed;
    world->crashes =
        explored_room(world, world->crashes, world->present.crashes, &world->crash_room, sizeof *world->crashes);
    if (world->out_of_memory)
        return;
    world->crashes[world->present.crashes++] =
        (struct cv_crash){.node = node, .moment = CV_AT, .time = explored_time(world)};
    explored_tell(world, (struct cv_event){.type = CV_EVENT_CRASH, .node = node, .peer = CV_NOBODY}, NULL);
    for (struct explored_message *message = world->present.first, *after; message; message = after) {
        after = message->after;
        if (message->content.to == node)
            lose(world, message);
    }
    network_changes(world);
    it->died = world->present.changed;
    if (!missed)
        want_view(world, node, false);
}

/* A bit for each ordered pair of nodes: the first cannot reach the second. For the caller to free; NULL: no memory. */
static bool *losses_now(struct explored *world)
{
    const size_t nodes = world->nodes;
    bool *lost = malloc(nodes * nodes);
    for (cv_node node = 0; lost && node < nodes; node++)
        for (cv_node other = 0; other < nodes; other++)
            lost[node * nodes + other] = explored_is_lost(world, node, other);
    world->out_of_memory |= !lost;
    return lost;
}

/*
 * Nodes that can reach others again: if a node was told of the loss, it will be told of the return. If it was not told
 * yet, it will be told of both, except of what need not be reported. `lost` and `alive` are from before.
 */
static void regain(struct explored *world, const bool *lost, const bool *alive, uint32_t missed)
{
    const size_t nodes = world->views && !world->algorithm->trust ? 0 : world->nodes;
    for (cv_node node = 0; node < nodes; node++)
        for (cv_node other = 0; alive[node] && other < nodes; other++) {
            if (node == other || !lost[node * nodes + other] || explored_is_lost(world, node, other))
                continue;
            const bool told = explored_has(world, node, SET_SUSPECTS, other);
            const bool untold = missed && (explored_is(world, other, EXPLORED_MISSED) || alive[other]);
            uint32_t *set = explored_set(world, node, told ? SET_BACK : SET_UNHEARD);
            if (!told && untold)
                continue;
            explored_save(world, &set[other / 32], sizeof *set);
            cv_bits_add(set, other);
        }
}

static bool *living(struct explored *world)
{
    bool *alive = malloc(world->nodes);
    for (cv_node node = 0; alive && node < world->nodes; node++)
        alive[node] = explored_alive(world, node);
    world->out_of_memory |= !alive;
    return alive;
}

/* Has the detector yet to report what happened to a node then? Nobody is told of those that are dead from the start. */
static bool is_unreported(const struct explored *world, const struct explored_news *news)
{
    return news->time && news->time + world->scenario->detect >= world->present.now;
}

/* What a node knows of another, and what it is still to be told. In a graph it knows of no part until the report. */
static void learn(struct explored *world, cv_node node, cv_node other)
{
    const struct explored_node *me = explored_node(world, node), *it = explored_node(world, other);
    const bool all = world->graph && me->flags & EXPLORED_RETURNED, alive = it->flags & EXPLORED_ALIVE;
    const bool gone = all ? explored_is_lost(world, node, other) : !alive;
    const bool returns = alive && it->flags & EXPLORED_RETURNED && is_unreported(world, &it->returned);
    if (!all && !gone && !returns)
        return;
    const bool unreported = is_unreported(world, all ? &me->died : &it->died);
    if (!unreported)
        cv_bits_add(explored_set(world, node, SET_SUSPECTS), other);
    if (!gone)
        cv_bits_add(explored_set(world, node, unreported ? SET_UNHEARD : SET_BACK), other);
    world->present.unlike_checker = true;
}

/*
 * In the simulator the detector's reports are for all, whoever lives when they are made: a node that comes back knows
 * of the deaths and returns that were reported before, and is told of the others when they are due. In the checker it
 * is told of all, later, so that cannot replay such a story. A scenario that plans returns is the simulator's.
 */
void explored_learn_reports(struct explored *world, cv_node node)
{
    if (!world->scenario->recovery_count || (world->views && !world->algorithm->trust))
        return;
    for (cv_node other = 0; other < world->nodes; other++)
        if (other != node && !is_blind(world, node, other))
            learn(world, node, other);
}

void explored_come_back(struct explored *world, cv_node node)
{
    bool *alive = living(world), *lost = losses_now(world);
    struct explored_node *it = explored_node(world, node);
    const struct explored_node old = *it;
    explored_save_node(world, node);
    world->recoveries = explored_room(world, world->recoveries, world->present.recoveries, &world->recovery_room,
                                      sizeof *world->recoveries);
    if (!world->out_of_memory) {
        it->flags |= EXPLORED_ALIVE;
        world->present.alive++;
        network_changes(world);
        want_view(world, node, true);
        regain(world, lost, alive, world->present.missed);
        world->present.missed -= (old.flags & EXPLORED_MISSED) != 0;
        memset(it, 0, world->places[node + 1] - world->places[node]);
        it->clock = old.clock;
        it->ahead = old.ahead;
        it->requests = old.requests;
        memcpy(it->timer_alarms, old.timer_alarms, sizeof it->timer_alarms);
        memcpy(it->timer_orders, old.timer_orders, sizeof it->timer_orders);
        it->died = old.died;
        it->returned = world->present.changed;
        it->lost = old.lost;
        it->lost_from = old.lost_from;
        it->request_due = old.request_due;
        it->free_at = old.free_at;
        it->order = old.order;
        explored_client_returns(world, node);
        it->entry = NO_OPEN_ENTRY;
        it->flags = EXPLORED_ALIVE | (world->mutex ? 0 : EXPLORED_FRESH) | (world->views ? EXPLORED_OUTSIDE : 0) |
                    EXPLORED_RETURNED | (old.flags & EXPLORED_LASTING);
        explored_learn_reports(world, node);
        world->recoveries[world->present.recoveries++] =
            (struct cv_recovery){.node = node, .time = explored_time(world)};
    }
    free(alive);
    free(lost);
}

static void tell_link(struct explored *world, enum cv_event_type type, uint64_t detail)
{
    explored_tell(world, (struct cv_event){.type = type, .node = CV_NOBODY, .peer = CV_NOBODY, .detail = detail}, NULL);
}

void explored_cut_or_heal(struct explored *world, cv_node one, cv_node other)
{
    const bool heals = link_bit(world, one, other);
    bool *alive = heals ? living(world) : NULL, *lost = heals ? losses_now(world) : NULL;
    if (!world->out_of_memory) {
        flip_link(world, one, other);
        flip_link(world, other, one);
        world->present.cuts += !heals;
        network_changes(world);
        want_view(world, CV_NOBODY, false);
        if (heals)
            regain(world, lost, alive, world->present.missed);
        tell_link(world, heals ? CV_EVENT_HEAL : CV_EVENT_CUT, (uint64_t)one << 32 | other);
    }
    free(alive);
    free(lost);
}

void explored_partition(struct explored *world, uint32_t partition, bool on)
{
    bool *alive = on ? NULL : living(world), *lost = on ? NULL : losses_now(world);
    if (!world->out_of_memory) {
        explored_save(world, &world->partitioned[partition], sizeof *world->partitioned);
        world->partitioned[partition] = on;
        world->present.cuts += on;
        network_changes(world);
        want_view(world, CV_NOBODY, false);
        if (!on)
            regain(world, lost, alive, world->present.missed);
        tell_link(world, on ? CV_EVENT_CUT : CV_EVENT_HEAL, UINT64_MAX - partition);
    }
    free(alive);
    free(lost);
}

/* ---- what the scenario plans ---- */

/* Crash, cut, heal, recover, suspect: what happens first of what is due at once. */
static int by_due(const void *one, const void *other)
{
    static const int ranks[EVENT_TYPES] = {
        [EVENT_CRASH] = 0, [EVENT_CUT] = 1, [EVENT_HEAL] = 2, [EVENT_RECOVER] = 3, [EVENT_SUSPECT] = 4};
    const struct explored_fault *a = one, *b = other;
    if (a->due != b->due)
        return a->due < b->due ? -1 : 1;
    if (a->type != b->type)
        return ranks[a->type] - ranks[b->type];
    return a->order < b->order ? -1 : a->order > b->order;
}

static void plan(struct explored *world, uint64_t *room, struct explored_fault fault)
{
    world->planned = explored_room(world, world->planned, world->planned_count, room, sizeof *world->planned);
    if (world->out_of_memory)
        return;
    fault.order = world->planned_count;
    world->planned[world->planned_count++] = fault;
}

static void plan_suspicion(struct explored *world, uint64_t *room, const struct cv_suspicion *suspicion)
{
    const struct cv_pair pair = suspicion->pair;
    for (cv_node other = 0; other < world->nodes; other++)
        for (cv_node node = 0; node < world->nodes; node++)
            if (node != other && (pair.one == CV_NOBODY || pair.one == node) &&
                (pair.other == CV_NOBODY || pair.other == other))
                plan(world, room, (struct explored_fault){suspicion->time, EVENT_SUSPECT, node, other, UINT32_MAX, 0});
}

int explored_plan_faults(struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    uint64_t room = 0;
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        if (scenario->crashes[i].moment == CV_AT && scenario->crashes[i].time)
            plan(world, &room,
                 (struct explored_fault){scenario->crashes[i].time, EVENT_CRASH, scenario->crashes[i].node, CV_NOBODY,
                                         UINT32_MAX, 0});
    for (uint32_t i = 0; i < scenario->recovery_count; i++)
        plan(world, &room,
             (struct explored_fault){scenario->recoveries[i].time, EVENT_RECOVER, scenario->recoveries[i].node,
                                     CV_NOBODY, UINT32_MAX, 0});
    for (uint32_t i = 0; i < scenario->partition_count; i++) {
        plan(world, &room,
             (struct explored_fault){scenario->partitions[i].begin, EVENT_CUT, CV_NOBODY, CV_NOBODY, i, 0});
        if (scenario->partitions[i].end != CV_NEVER)
            plan(world, &room,
                 (struct explored_fault){scenario->partitions[i].end, EVENT_HEAL, CV_NOBODY, CV_NOBODY, i, 0});
    }
    for (uint32_t i = 0; i < scenario->suspicion_count; i++)
        plan_suspicion(world, &room, &scenario->suspicions[i]);
    if (world->planned_count)
        qsort(world->planned, world->planned_count, sizeof *world->planned, by_due);
    return world->out_of_memory ? CV_ENOMEM : 0;
}
