// SPDX-License-Identifier: MIT
/*
 * Views: numbered lists of members. The classical algorithms assume that no node dies. So when a node dies or comes
 * back, a new view begins in which that is true again. All messages on their way are dropped. Every member begins with
 * a fresh state and adopts the node that is still inside the critical section, if any; the nodes that waited ask
 * again. Here an oracle sees which nodes live; between real processes Raft agrees on it.
 */
#include "sim/view_changes.h"

#include <stdlib.h>

#include "core/scenario/view_election.h"
#include "sim/engine.h"
#include "sim/failures.h"
#include "sim/faults.h"
#include "sim/setup.h"
#include "sim/transport.h"
#include "sim/workload.h"
#include "sim/world.h"

struct views {
    cv_node *members;
    struct cv_quorums quorums; /* over the members */
    uint64_t awaited;          /* changes of the group for which a coordinator is being elected */
};

int views_init(struct cv_sim *sim)
{
    if (!sim->load)
        return 0;
    sim->views = calloc(1, sizeof *sim->views);
    if (!sim->views || !(sim->views->members = malloc(sim->group.nodes * sizeof *sim->views->members)))
        return CV_ENOMEM;
    return 0;
}

void views_free(struct cv_sim *sim)
{
    if (!sim->views)
        return;
    free(sim->views->members);
    cv_quorums_free(&sim->views->quorums);
    free(sim->views);
}

/* ---- the coordinator ---- */

static bool is_alive(const void *sim, cv_node node)
{
    return world_alive(sim, node);
}

/* Lets the live nodes elect one of them, in a simulation of its own. Returns the time it took. */
static cv_node elect(struct cv_sim *sim, uint64_t *ticks)
{
    struct cv_view_election election;
    struct cv_sim *inner = NULL;
    struct cv_run run;
    cv_node leader = CV_NOBODY;
    int error = cv_view_election_make(&election, sim->scenario, sim->run.views, is_alive, sim);
    if (!error && election.caller != CV_NOBODY) {
        error = cv_sim_new(&inner, &election.scenario, NULL);
        if (!error)
            error = cv_sim_run(inner, &run);
        for (cv_node node = 0; !error && node < sim->group.nodes; node++)
            if (sim->group.ids[node] == run.standing(run.runtime, election.caller).leader)
                leader = node;
        if (!error) {
            *ticks = run.decided;
            sim->run.election_messages += run.total;
        }
    }
    sim->out_of_memory |= error == CV_ENOMEM;
    if (inner)
        failures_pass_on(sim, inner);
    cv_sim_free(inner);
    cv_view_election_free(&election);
    return leader;
}

/* Must another coordinator be elected? */
static bool is_orphaned(const struct cv_sim *sim, cv_node coordinator)
{
    const bool needed = sim->scenario->group.coordinator != CV_NOBODY;
    return needed && (coordinator == CV_NOBODY || !world_alive(sim, coordinator));
}

void views_change(struct cv_sim *sim)
{
    uint64_t ticks = 0;
    cv_node coordinator = sim->group.coordinator;
    if (!sim->views || !sim->scenario->views)
        return;
    if (is_orphaned(sim, coordinator))
        coordinator = elect(sim, &ticks);
    sim->views->awaited++;
    faults_plan_view(sim, sim->now + ticks, coordinator);
}

/* ---- beginning a view ---- */

static void gather_members(struct cv_sim *sim)
{
    struct cv_group *group = &sim->group;
    group->member_count = 0;
    for (cv_node node = 0; node < group->nodes; node++)
        if (world_alive(sim, node))
            sim->views->members[group->member_count++] = node;
    group->members = group->member_count < group->nodes ? sim->views->members : NULL;
}

/* Voting sets are sets of members. Those of a file are only valid for the group they were written for. */
static void draw_quorums(struct cv_sim *sim)
{
    struct cv_complaint complaint;
    struct cv_quorums *quorums = &sim->views->quorums;
    sim->group.quorums = sim->scenario->quorums.starts;
    sim->group.voters = sim->scenario->quorums.voters;
    if (!sim->scenario->quorums.starts || !sim->group.members)
        return;
    cv_quorums_free(quorums);
    if (cv_quorums_make(quorums, "grid", sim->group.nodes, sim->group.members, sim->group.member_count, &complaint)) {
        sim->out_of_memory = true;
        return;
    }
    sim->group.quorums = quorums->starts;
    sim->group.voters = quorums->voters;
}

/* Gives every node a fresh state. The clocks go on, so that later events have later times. */
static void begin_anew(struct cv_sim *sim)
{
    const uint32_t nodes = sim->group.nodes;
    uint64_t *clocks = malloc((size_t)nodes * sizeof *clocks);
    bool *alive = malloc((size_t)nodes * sizeof *alive);
    if (!clocks || !alive) {
        sim->out_of_memory = true;
        free(clocks);
        free(alive);
        return;
    }
    for (cv_node node = 0; node < nodes; node++) {
        clocks[node] = world_node(sim, node)->clock;
        alive[node] = world_alive(sim, node);
        for (sim->name = 0; sim->name < world_names(sim); sim->name++) {
            world_cancel_timers(sim, node);
            if (world_node(sim, node)->clock > clocks[node])
                clocks[node] = world_node(sim, node)->clock;
        }
        sim->name = 0;
    }
    if (world_lay_out(sim))
        sim->out_of_memory = true;
    for (sim->name = 0; !sim->out_of_memory && sim->name < world_names(sim); sim->name++)
        for (cv_node node = 0; node < nodes; node++) {
            world_reset_node(sim, node);
            world_node(sim, node)->clock = clocks[node] & CV_CLOCK_MASK;
            world_node(sim, node)->flags = alive[node] ? NODE_ALIVE : 0;
        }
    sim->name = 0;
    free(clocks);
    free(alive);
}

/* First all nodes adopt the node that is inside, then the nodes that want to enter request, then the view starts. */
static void open_room(struct cv_sim *sim, bool first)
{
    for (sim->name = 0; sim->name < world_names(sim); sim->name++) {
        uint64_t fence;
        const cv_node holder = load_holder(sim, &fence);
        for (cv_node node = 0; node < sim->group.nodes; node++)
            if (world_has(sim, node) && world_alive(sim, node)) {
                sim->algorithm->adopt(world_begin(sim, node, NULL), holder, fence);
                world_finish(sim);
            }
    }
    sim->name = 0;
    if (first)
        load_begin(sim);
    for (sim->name = 0; sim->name < world_names(sim); sim->name++) {
        if (!first)
            load_resume(sim);
        for (cv_node node = 0; node < sim->group.nodes && sim->algorithm->start; node++)
            if (world_has(sim, node) && world_alive(sim, node)) {
                sim->algorithm->start(world_begin(sim, node, NULL));
                world_finish(sim);
            }
    }
    sim->name = 0;
}

void views_begin(struct cv_sim *sim)
{
    if (sim->scenario->views) {
        gather_members(sim);
        draw_quorums(sim);
        if (is_orphaned(sim, sim->group.coordinator)) {
            uint64_t ticks;
            sim->group.coordinator = elect(sim, &ticks);
        }
        if (sim->group.members)
            begin_anew(sim);
    }
    open_room(sim, true);
}

/* Of several changes in quick succession the last one counts. */
void views_install(struct cv_sim *sim, cv_node coordinator)
{
    if (--sim->views->awaited)
        return;
    gather_members(sim);
    if (!sim->group.member_count)
        return; /* no node lives; the first that comes back begins the next view */
    if (is_orphaned(sim, coordinator)) {
        views_change(sim);
        return;
    }
    sim->group.coordinator = coordinator;
    sim->group.epoch++;
    sim->run.views++;
    draw_quorums(sim);
    faults_void_mail(sim, CV_NOBODY);
    transport_break_all(sim);
    begin_anew(sim);
    world_tell(sim, &(struct cv_event){.type = CV_EVENT_VIEW,
                                       .node = CV_NOBODY,
                                       .peer = coordinator,
                                       .time = sim->now,
                                       .detail = sim->group.epoch});
    if (!sim->out_of_memory)
        open_room(sim, false);
}
