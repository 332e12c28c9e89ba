// SPDX-License-Identifier: MIT
/* As sim/workload.c, whose clients cannot go back in time. */
#include "explore/explored_requests.h"

#include <stdlib.h>

#include "explore/explored_views.h"

/* ---- listed requests ---- */

/* How many of the node's listed requests come up before that time. */
static uint64_t come_before(const struct explored *world, cv_node node, uint64_t time)
{
    const struct cv_scenario *scenario = world->scenario;
    uint64_t count = 0;
    for (uint32_t i = 0; i < scenario->wish_count; i++)
        count += scenario->wishes[i].node == node && scenario->wishes[i].time < time;
    return count;
}

static int by_time(const void *one, const void *other)
{
    const struct explored_wish *a = one, *b = other;
    if (a->wish->time != b->wish->time)
        return a->wish->time < b->wish->time ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The node's listed request after so many others, in the order of time; NULL if there is none. */
static const struct explored_wish *wish_after(const struct explored *world, cv_node node, uint64_t others)
{
    for (uint32_t i = 0; i < world->scenario->wish_count; i++)
        if (world->wishes[i].wish->node == node && others-- == 0)
            return &world->wishes[i];
    return NULL;
}

/* A request that came up while the node was busy follows its exit at once, or the view that takes it in. */
static struct explored_request next_listed(const struct explored *world, cv_node node)
{
    const struct explored_node *it = explored_node(world, node);
    const uint64_t made = it->requests + it->stuck;
    const struct explored_wish *next = wish_after(world, node, made < it->lost_from ? made : made + it->lost);
    if (!next)
        return (struct explored_request){.due = CV_NEVER};
    const uint64_t time = next->wish->time;
    const bool waited = time < it->free_at || (time == it->free_at && it->left);
    return (struct explored_request){.due = time > it->free_at ? time : it->free_at,
                                     .order = waited ? 0 : next->index + 1,
                                     .hold = next->wish->hold};
}

struct explored_request explored_next_request(const struct explored *world, cv_node node)
{
    const struct cv_scenario *scenario = world->scenario;
    const struct explored_node *it = explored_node(world, node);
    if (scenario->wish_count)
        return next_listed(world, node);
    return (struct explored_request){.due = it->requests < scenario->entries ? it->request_due : CV_NEVER,
                                     .order = it->order,
                                     .hold = scenario->hold};
}

/* ---- what a client does ---- */

static void expect_alarm(struct explored *world, uint64_t due)
{
    if (due > world->present.last_alarm)
        world->present.last_alarm = due;
}

void explored_clients_open(struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    world->present.order = scenario->wish_count;
    world->wishes = malloc((scenario->wish_count + 1u) * sizeof *world->wishes);
    if (!world->wishes) {
        world->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < scenario->wish_count; i++) {
        world->wishes[i] = (struct explored_wish){&scenario->wishes[i], i};
        expect_alarm(world, scenario->wishes[i].time);
    }
    qsort(world->wishes, scenario->wish_count, sizeof *world->wishes, by_time);
    for (cv_node node = 0; node < world->nodes; node++) {
        struct explored_node *it = explored_node(world, node);
        it->request_due = it->flags & EXPLORED_ALIVE ? 0 : CV_NEVER;
        it->order = node;
    }
}

void explored_client_requests(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    const struct explored_request request = explored_next_request(world, node);
    it->hold = request.due != CV_NEVER ? request.hold : world->scenario->hold;
    it->request_due = CV_NEVER;
    it->requests++;
}

void explored_client_enters(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    it->leave_due = world->present.now + (it->hold ? it->hold : 1);
    it->order = ++world->present.order;
    expect_alarm(world, it->leave_due);
}

void explored_client_leaves(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    const uint64_t think = world->scenario->think;
    it->free_at = world->present.now;
    it->left = true;
    it->stuck = 0;
    it->request_due = world->present.now + think;
    it->order = think ? ++world->present.order : 0;
    if (it->requests < world->scenario->entries && think)
        expect_alarm(world, it->request_due);
}

void explored_client_crashes(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    it->free_at = world->present.now;
    it->left = false;
}

/*
 * Listed requests whose time came while the node was dead are lost. Those that waited when it died still do: in a view
 * they follow at once, without views the next exit. A closed loop without views goes on if its pause is not yet over.
 */
void explored_client_returns(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    const uint64_t now = world->present.now, done = it->requests + it->lost;
    const uint64_t come = come_before(world, node, it->free_at), gone = come_before(world, node, now);
    const uint64_t waiting = come > done ? come - done : 0;
    if (gone > done + waiting) {
        it->lost = gone - it->requests - waiting;
        it->lost_from = it->requests + waiting;
    }
    it->stuck = world->views ? 0 : waiting;
    it->free_at = now;
    if (it->request_due < now)
        it->request_due = CV_NEVER;
}

void explored_client_joins(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    it->free_at = it->request_due = world->present.now;
    it->order = 0;
}

/* ---- the end ---- */

uint64_t explored_end(struct explored *world)
{
    const struct explored_present *now = &world->present;
    uint64_t end = now->last_alarm, view;
    cv_node coordinator;
    if (!world->mutex || !world->algorithm->hints.perpetual)
        return CV_NEVER;
    for (cv_node node = 0; node < world->nodes; node++) {
        const uint32_t flags = explored_node(world, node)->flags;
        if (flags & EXPLORED_ALIVE &&
            (flags & (EXPLORED_WAITING | EXPLORED_INSIDE) || explored_next_request(world, node).due != CV_NEVER))
            return CV_NEVER;
    }
    if (world->planned_count && world->planned[world->planned_count - 1].due > end)
        end = world->planned[world->planned_count - 1].due;
    if (now->changed.time && now->changed.time + world->scenario->detect > end)
        end = now->changed.time + world->scenario->detect;
    if (explored_view_due(world, &view, &coordinator) && view > end)
        end = view;
    return end;
}
