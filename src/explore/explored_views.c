// SPDX-License-Identifier: MIT
#include "explore/explored_views.h"

#include <stdlib.h>
#include <string.h>

#include "core/scenario/view_election.h"
#include "explore/explored_events.h"
#include "explore/explored_network.h"
#include "explore/explored_requests.h"
#include "explore/explored_step.h"

#define MOST_ELECTION_STEPS 1000000u

/* What an election among live nodes came to. */
struct explored_election {
    bool *alive;    /* by node: among these it was held */
    uint64_t epoch; /* of the view before */
    uint64_t ticks;
    cv_node leader;
    bool known;
};

/* ---- the group ---- */

/* Voting sets are sets of members. Those of a file are only valid for the group they were written for. */
static void draw_quorums(struct explored *world)
{
    struct cv_complaint complaint;
    world->group.quorums = world->scenario->quorums.starts;
    world->group.voters = world->scenario->quorums.voters;
    if (!world->scenario->quorums.starts || !world->group.members)
        return;
    cv_quorums_free(&world->view_quorums);
    if (cv_quorums_make(&world->view_quorums, "grid", world->nodes, world->group.members, world->group.member_count,
                        &complaint)) {
        world->out_of_memory = true;
        return;
    }
    world->group.quorums = world->view_quorums.starts;
    world->group.voters = world->view_quorums.voters;
}

void explored_views_refresh(struct explored *world)
{
    struct cv_group *group = &world->group;
    if (!world->views || !world->members)
        return;
    const uint32_t before = group->member_count;
    uint32_t count = 0;
    bool same = true;
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_is(world, node, EXPLORED_MEMBER)) {
            same = same && count < before && world->members[count] == node;
            world->members[count++] = node;
        }
    group->member_count = count;
    group->members = count < world->nodes ? world->members : NULL;
    group->coordinator = world->present.coordinator;
    group->epoch = world->present.epoch;
    if (!same || count != before)
        draw_quorums(world);
}

/* Sizes depend on voting sets: no set is larger than the group. */
size_t explored_views_state(const struct explored *world, cv_node node)
{
    const struct cv_algorithm *algorithm = world->algorithm;
    struct cv_group group = world->group;
    size_t bytes = algorithm->state_size ? algorithm->state_size(&group, node) : algorithm->state_bytes;
    uint64_t *starts = world->views && group.quorums ? malloc((world->nodes + 1u) * sizeof *starts) : NULL;
    for (uint32_t i = 0; starts && i <= world->nodes; i++)
        starts[i] = (uint64_t)i * world->nodes;
    group.quorums = starts ? starts : group.quorums;
    group.coordinator = world->views ? node : group.coordinator; /* which may need more */
    if (algorithm->state_size && algorithm->state_size(&group, node) > bytes)
        bytes = algorithm->state_size(&group, node);
    free(starts);
    return bytes;
}

/* ---- the coordinator ---- */

/* Plays the election to its end. Returns when the last node learnt who leads. */
static uint64_t play(struct explored *inner)
{
    struct explored_events events = {0};
    uint64_t decided = 0;
    inner->recording = false;
    for (uint32_t step = 0; step < MOST_ELECTION_STEPS && explored_list(inner, &events, false) == 0; step++) {
        if (events.next == UINT64_MAX)
            break;
        const struct explored_event event = events.items[events.next];
        const cv_id before = event.node < inner->nodes ? explored_node(inner, event.node)->leader : 0;
        const bool knew = event.node < inner->nodes && explored_is(inner, event.node, EXPLORED_KNOWS);
        explored_take(inner, &event, &(struct explored_script){.sent = CV_WHOLE});
        if (event.node < inner->nodes && explored_is(inner, event.node, EXPLORED_KNOWS) &&
            (!knew || explored_node(inner, event.node)->leader != before))
            decided = inner->present.now;
    }
    explored_events_free(&events);
    return decided;
}

static bool is_alive(const void *election, cv_node node)
{
    return ((const struct explored_election *)election)->alive[node];
}

/* Lets the nodes that live, as the election says, elect one of them, in a world of its own. */
static void elect(struct explored *world, struct explored_election *election)
{
    struct cv_view_election held;
    struct cv_complaint complaint;
    struct explored inner = {0};
    const uint64_t views = world->present.epoch - world->scenario->group.epoch;
    int error = cv_view_election_make(&held, world->scenario, views, is_alive, election);
    election->leader = CV_NOBODY;
    if (!error && held.caller != CV_NOBODY) {
        error = explored_begin(&inner, &held.scenario, &complaint);
        if (!error) {
            election->ticks = play(&inner);
            election->leader = cv_index_find(&world->index, explored_node(&inner, held.caller)->leader);
        }
        world->out_of_memory |= inner.out_of_memory;
        explored_free(&inner);
    }
    world->out_of_memory |= error != 0;
    cv_view_election_free(&held);
}

/* Who lived at that time: later deaths and returns are taken back. */
static bool lived_at(const struct explored *world, cv_node node, uint64_t time)
{
    const struct explored_present *now = &world->present;
    bool alive = explored_alive(world, node);
    for (uint32_t i = now->change_count; i-- > 0 && now->changes[i].time > time;)
        if (now->changes[i].node == node)
            alive = !now->changes[i].back;
    return alive;
}

/* The same, unless it is known already. */
static const struct explored_election *election_at(struct explored *world, uint64_t time)
{
    struct explored_election *it = world->election;
    bool same = it->known && it->epoch == world->present.epoch;
    for (cv_node node = 0; node < world->nodes; node++) {
        const bool alive = lived_at(world, node, time);
        same = same && it->alive[node] == alive;
        it->alive[node] = alive;
    }
    it->epoch = world->present.epoch;
    if (!same)
        elect(world, it);
    it->known = true;
    return it;
}

/* Must another coordinator be elected? */
static bool is_orphaned(const struct explored *world, cv_node coordinator, uint64_t time)
{
    return world->scenario->group.coordinator != CV_NOBODY &&
           (coordinator == CV_NOBODY || !lived_at(world, coordinator, time));
}

/* A view that is planned for a change, after that is detected and a coordinator is elected. */
struct planned_view {
    uint64_t due;
    cv_node coordinator;
};

struct planned_views {
    struct planned_view list[EXPLORED_MOST_CHANGES + 1];
    uint32_t count;
};

/* At that time a change is detected, or the one that was to coordinate has died. */
static void plan_view(struct explored *world, struct planned_views *views, uint64_t time, cv_node coordinator)
{
    const struct explored_election *election = is_orphaned(world, coordinator, time) ? election_at(world, time) : NULL;
    views->list[views->count++] = (struct planned_view){.due = time + (election ? election->ticks : 0),
                                                        .coordinator = election ? election->leader : coordinator};
}

/* The first that is due, of those due at once the first that was planned. */
static struct planned_view take_first(struct planned_views *views)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < views->count; i++)
        if (views->list[i].due < views->list[first].due)
            first = i;
    const struct planned_view view = views->list[first];
    views->count--;
    memmove(views->list + first, views->list + first + 1, (views->count - first) * sizeof *views->list);
    return view;
}

static uint64_t first_due(const struct planned_views *views)
{
    uint64_t due = CV_NEVER;
    for (uint32_t i = 0; i < views->count; i++)
        due = views->list[i].due < due ? views->list[i].due : due;
    return due;
}

/*
 * When several changes follow each other quickly, the views that are planned for them wait for each other: the last one
 * that is due begins. If its coordinator has died meanwhile, another is elected first.
 */
bool explored_view_due(struct explored *world, uint64_t *due, cv_node *coordinator)
{
    const struct explored_present *now = &world->present;
    const uint32_t count = world->views && now->alive && !now->unstarted ? now->change_count : 0;
    struct planned_views views = {0};
    for (uint32_t detected = 0; detected < count || views.count;) {
        const uint64_t next = detected < count ? now->changes[detected].time + world->scenario->detect : CV_NEVER;
        if (next <= first_due(&views)) {
            plan_view(world, &views, next, now->coordinator);
            detected++;
            continue;
        }
        const struct planned_view view = take_first(&views);
        if (views.count)
            continue;
        *due = view.due;
        *coordinator = view.coordinator;
        if (!is_orphaned(world, view.coordinator, view.due) || view.coordinator == CV_NOBODY)
            return true;
        plan_view(world, &views, view.due, now->coordinator);
    }
    return false;
}

/* The changes that it is for are over; those that are detected later have views of their own. */
static void forget_changes(struct explored *world)
{
    struct explored_present *now = &world->present;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < now->change_count; i++)
        if (now->changes[i].time + world->scenario->detect > now->now)
            now->changes[kept++] = now->changes[i];
    memset(now->changes + kept, 0, (now->change_count - kept) * sizeof *now->changes);
    now->change_count = kept;
}

/* ---- beginning a view ---- */

static void call_adopt(void *context)
{
    struct explored *world = context;
    world->algorithm->adopt(&world->self, world->view_holder, world->view_fence);
}

static void call_request(void *context)
{
    struct explored *world = context;
    world->algorithm->request(&world->self);
}

static void call_start(void *context)
{
    struct explored *world = context;
    world->algorithm->start(&world->self);
}

static void call_init(void *context)
{
    struct explored *world = context;
    if (world->algorithm->init)
        world->algorithm->init(&world->self);
}

/* Gives every node a fresh state. The clocks go on, so that later events have later times. */
static void begin_anew(struct explored *world)
{
    for (cv_node node = 0; node < world->nodes; node++) {
        struct explored_node *it = explored_node(world, node);
        const bool alive = it->flags & EXPLORED_ALIVE, back = it->flags & EXPLORED_OUTSIDE;
        explored_save_node(world, node);
        it->flags &= ~(uint32_t)(EXPLORED_MEMBER | EXPLORED_OUTSIDE);
        it->flags |= alive ? EXPLORED_MEMBER : 0;
        if (back)
            explored_client_joins(world, node);
        memset(it->timers, 0, sizeof it->timers);
        memset(explored_state(world, node), 0,
               world->places[node + 1] - world->places[node] -
                   (size_t)((char *)explored_state(world, node) - (char *)it));
    }
    explored_views_refresh(world);
    for (cv_node node = 0; node < world->nodes; node++)
        explored_act(world, node, call_init, CV_EVENT_NOTE);
}

static void find_holder(struct explored *world)
{
    world->view_holder = CV_NOBODY;
    world->view_fence = 0;
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_is(world, node, EXPLORED_INSIDE)) {
            world->view_holder = node;
            world->view_fence = explored_node(world, node)->fence;
            return;
        }
}

static void ask_again(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    it->clock = (it->clock + 1) & CV_CLOCK_MASK;
    explored_tell(world, (struct cv_event){.type = CV_EVENT_REQUEST, .node = node, .peer = CV_NOBODY, .text = "again"},
                  NULL);
    explored_act(world, node, call_request, CV_EVENT_NOTE);
}

/* The waiting nodes request again, in the order of their first requests. */
static void resume(struct explored *world)
{
    const uint64_t entries = world->present.entries;
    for (uint64_t i = 0; world->recording && i < entries; i++) {
        const cv_node node = world->entries[i].node;
        if (explored_node(world, node)->entry == i && explored_is(world, node, EXPLORED_WAITING))
            ask_again(world, node);
    }
    for (cv_node node = 0; !world->recording && node < world->nodes; node++)
        if (explored_is(world, node, EXPLORED_WAITING))
            ask_again(world, node);
}

void explored_view_begin(struct explored *world, cv_node coordinator)
{
    world->present.coordinator = coordinator;
    world->present.epoch++;
    forget_changes(world);
    explored_tell(world,
                  (struct cv_event){
                      .type = CV_EVENT_VIEW, .node = CV_NOBODY, .peer = coordinator, .detail = world->present.epoch},
                  NULL);
    explored_lose_all(world);
    begin_anew(world);
    find_holder(world);
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_alive(world, node))
            explored_act(world, node, call_adopt, CV_EVENT_NOTE);
    resume(world);
    world->present.unstarted = world->algorithm->start != NULL;
}

/* If one member alone has something to do, the step is its own. */
void explored_view_start(struct explored *world)
{
    cv_node first = CV_NOBODY, actor = CV_NOBODY;
    uint32_t actors = 0;
    world->present.unstarted = false;
    for (cv_node node = 0; node < world->nodes; node++) {
        if (!explored_alive(world, node) || explored_is(world, node, EXPLORED_OUTSIDE))
            continue;
        first = first == CV_NOBODY ? node : first;
        explored_save_node(world, node);
        if (explored_act(world, node, call_start, CV_EVENT_START)) {
            actor = node;
            actors++;
        }
    }
    if (!actors && first != CV_NOBODY)
        explored_tell(world, (struct cv_event){.type = CV_EVENT_START, .node = first, .peer = CV_NOBODY}, NULL);
    if (actors == 1 && world->recording && !world->out_of_memory)
        world->steps[world->step_count - 1].decision.node = actor;
}

/* ---- the first view ---- */

int explored_views_open(struct explored *world)
{
    world->present.coordinator = world->group.coordinator;
    world->present.epoch = world->group.epoch;
    if (!world->views)
        return 0;
    world->members = calloc(world->nodes, sizeof *world->members);
    world->election = calloc(1, sizeof *world->election);
    if (world->election)
        world->election->alive = calloc(world->nodes, sizeof *world->election->alive);
    if (!world->members || !world->election || !world->election->alive)
        return CV_ENOMEM;
    world->present.change_count = 0;
    if (is_orphaned(world, world->present.coordinator, 0))
        world->present.coordinator = election_at(world, 0)->leader;
    world->group.member_count = world->nodes;
    for (cv_node node = 0; node < world->nodes; node++)
        world->members[node] = node;
    if (world->present.alive < world->nodes) {
        begin_anew(world);
    } else {
        for (cv_node node = 0; node < world->nodes; node++)
            explored_node(world, node)->flags |= EXPLORED_MEMBER;
        explored_views_refresh(world);
    }
    return world->out_of_memory ? CV_ENOMEM : 0;
}

void explored_views_free(struct explored *world)
{
    cv_quorums_free(&world->view_quorums);
    if (world->election)
        free(world->election->alive);
    free(world->election);
    free(world->members);
}
