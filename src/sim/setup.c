// SPDX-License-Identifier: MIT
/* Builds the simulated world and frees it. */
#include "sim/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/apart.h"
#include "core/scenario/validity.h"
#include "sim/alarms.h"
#include "sim/failures.h"
#include "sim/faults.h"
#include "sim/repeat.h"
#include "sim/rounds.h"
#include "sim/transport.h"
#include "sim/view_changes.h"
#include "sim/workload.h"
#include "sim/world.h"

/* Invariants are checked after every step; in larger groups that would be most of the work. */
#define LARGEST_CHECKED_GROUP 256u
#define ASKED_UNWATCHED 65536u
#define FIRST_OUTBOX_BYTES 4096u
#define SMALL_GROUP_BYTES ((size_t)256 * 1024) /* all of it stays in the cache */

static uint32_t draw_choice(struct cv_self *me, uint32_t ways)
{
    struct cv_sim *sim = world_of(me);
    const bool again = sim->chooser == me->node && sim->chosen_clock == me->clock;
    sim->chosen = again ? sim->chosen + 1 : 0;
    sim->chosen_clock = me->clock;
    sim->chooser = me->node;
    sim->chose = true;
    return cv_arrival_choice(&sim->choices, me->node, sim->name, me->clock, sim->chosen, ways);
}

/*
 * The step has more messages than there is room for: it goes on in a larger outbox. A handler cannot be told that
 * memory ran out. Further messages then overwrite the earlier ones, and the run ends right after the step.
 */
static void grow_outbox(struct cv_self *me, size_t bytes)
{
    struct cv_sim *sim = world_of(me);
    const bool ours = me->outbox == sim->outbox;
    const size_t begun = ours ? me->used : me->used - sim->step_at;
    size_t room = sim->outbox_room;
    while (room < begun + bytes)
        room *= 2;
    if (room > sim->outbox_room) {
        unsigned char *outbox = realloc(sim->outbox, room);
        if (!outbox) {
            sim->out_of_memory = true;
            me->outbox = sim->outbox;
            me->room = sim->outbox_room;
            me->used = 0;
            assert(bytes <= me->room);
            return;
        }
        if (ours)
            me->outbox = outbox;
        sim->outbox = outbox;
        sim->outbox_room = room;
    }
    if (!ours)
        memcpy(sim->outbox, me->outbox + sim->step_at, begun);
    me->used = begun;
    me->outbox = sim->outbox;
    me->room = sim->outbox_room;
}

static const struct cv_runtime runtime = {
    .choose = draw_choice, .present = faults_present, .suspected = faults_suspected, .grow = grow_outbox};

static bool is_plain(const struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    return !sim->traced && !cv_scenario_raw(scenario) && !scenario->unordered && !scenario->lag_count &&
           !scenario->serial && !scenario->crash_count && !scenario->recovery_count && scenario->names <= 1 &&
           !scenario->partition_count && !scenario->suspicion_count &&
           (!sim->algorithm->invariant || sim->group.nodes > LARGEST_CHECKED_GROUP);
}

/*
 * The number of messages that are checked for validity. Only runs that keep the algorithm's assumptions check it. A
 * plain run is to be fast, and checks its first messages only.
 */
static uint64_t asks(const struct cv_sim *sim)
{
    if (sim->group.nodes > LARGEST_CHECKED_GROUP || !cv_scenario_keeps_assumptions(sim->scenario))
        return 0;
    return sim->plain ? ASKED_UNWATCHED : UINT64_MAX;
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Millions of nodes are visited in no order: large pages save TLB misses. To be called before the first use. */
static void prefer_large_pages(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    const uintptr_t from = ((uintptr_t)memory + page - 1) & ~(page - 1), to = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (memory && from < to)
        madvise((void *)from, to - from, MADV_HUGEPAGE); /* only advice: small pages work, too */
}

/* Places every node and its state in memory; again when a view gives some of them other sizes. */
int world_lay_out(struct cv_sim *sim)
{
    const struct cv_algorithm *algorithm = sim->algorithm;
    const uint32_t nodes = sim->group.nodes;
    size_t bytes = 0;
    free(sim->places);
    free(sim->nodes);
    free(sim->leaders);
    sim->places = NULL;
    sim->nodes = NULL;
    sim->stride = sizeof(struct node) + whole_words(algorithm->state_bytes);
    if (algorithm->state_size) {
        sim->places = malloc(((size_t)nodes + 1) * sizeof *sim->places);
        if (!sim->places)
            return CV_ENOMEM;
        for (cv_node node = 0; node < nodes; node++) {
            sim->places[node] = bytes;
            bytes += sizeof(struct node) + whole_words(algorithm->state_size(&sim->group, node));
        }
        sim->places[nodes] = bytes;
    } else {
        bytes = nodes * sim->stride;
    }
    sim->name_bytes = bytes;
    sim->nodes = calloc(world_names(sim), bytes);
    prefer_large_pages(sim->nodes, world_names(sim) * bytes);
    sim->leaders = calloc(nodes, sizeof *sim->leaders);
    return sim->nodes && sim->leaders ? 0 : CV_ENOMEM;
}

void world_reset_node(struct cv_sim *sim, cv_node node)
{
    struct node *it = world_node(sim, node);
    const size_t bytes = sim->places ? sim->places[node + 1] - sim->places[node] : sim->stride;
    memset(it, 0, bytes);
    it->flags = NODE_ALIVE;
    sim->self.state = it + 1;
    sim->self.node = node;
    sim->self.effects = 0;
    sim->self.used = 0;
    if (sim->algorithm->init)
        sim->algorithm->init(&sim->self);
    assert(!sim->self.effects && !sim->self.used);
}

void world_cancel_timers(struct cv_sim *sim, cv_node node)
{
    for (uint32_t timer = 0; timer < sim->timers; timer++) {
        uint64_t *due = world_timer(sim, node, timer);
        sim->timers_active -= *due != 0;
        *due = 0;
    }
}

static uint64_t longest_delay(const struct cv_scenario *scenario)
{
    if (scenario->delay.model == CV_DELAY_EXPONENTIAL || cv_scenario_raw(scenario) || scenario->serial)
        return CV_NEVER;
    uint64_t link = scenario->delay.model == CV_DELAY_UNIT ? 1 : scenario->delay.high;
    for (uint32_t i = 0; i < scenario->lag_count; i++)
        link = scenario->lags[i].ticks > link ? scenario->lags[i].ticks : link;
    return link * (2 * (uint64_t)scenario->alternate_count + 1);
}

/* What a step needs, and each worker of a shared run has for itself: an outbox, calendars, the order of channels. */
static int build_desk(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    const uint32_t nodes = sim->group.nodes;
    const bool ring = cv_arrival_ring(&sim->group);
    sim->outbox_room = FIRST_OUTBOX_BYTES;
    sim->outbox = malloc(sim->outbox_room);
    sim->self.outbox = sim->outbox;
    sim->self.room = sim->outbox_room;
    sim->sided = ring && sim->plain && !sim->orderly && !sim->asks;
    sim->direct = sim->plain && !sim->sided && scenario->delay.model == CV_DELAY_UNIT;
    sim->self.rows = sim->direct && !ring && !sim->group.edges && !sim->orderly && !sim->asks;
    if (!sim->outbox || calendar_init(&sim->mail, longest_delay(scenario)) || calendar_init(&sim->alarms, CV_NEVER) ||
        (sim->sided && calendar_init(&sim->backward, longest_delay(scenario))))
        return CV_ENOMEM;
    if (scenario->delay.model != CV_DELAY_UNIT || !sim->plain)
        if (fifo_init(&sim->fifo, nodes, ring) ||
            (sim->group.edges && fifo_use_graph(&sim->fifo, sim->group.edges, sim->group.neighbours)))
            return CV_ENOMEM;
    prefer_large_pages(sim->fifo.onward, nodes * sizeof *sim->fifo.onward);
    arrivals_init(&sim->arrivals, nodes, ring, sim->plain ? 0 : sizeof(struct trailer));
    sim->chooser = CV_NOBODY;
    return 0;
}

static int build(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    const uint32_t nodes = sim->group.nodes;
    sim->kinds = cv_algorithm_kinds(sim->algorithm);
    sim->timers = cv_algorithm_timers(sim->algorithm);
    sim->timer_due =
        sim->timers ? calloc((size_t)nodes * sim->timers * world_names(sim), sizeof *sim->timer_due) : NULL;
    if ((sim->timers && !sim->timer_due) || world_lay_out(sim) || build_desk(sim))
        return CV_ENOMEM;
    if (scenario->crash_count && !(sim->decided = calloc(nodes, sizeof *sim->decided)))
        return CV_ENOMEM;
    if (transport_init(sim) || repeat_init(sim))
        return CV_ENOMEM;
    for (sim->name = 0; sim->name < world_names(sim); sim->name++)
        for (cv_node node = 0; node < nodes; node++)
            if (world_has(sim, node)) {
                world_reset_node(sim, node);
                world_node(sim, node)->clock = (scenario->clocks ? scenario->clocks[node] : 0) & CV_CLOCK_MASK;
            }
    sim->name = 0;
    if (load_init(sim) || views_init(sim) || rounds_init(sim))
        return CV_ENOMEM;
    sim->small = sim->name_bytes <= SMALL_GROUP_BYTES;
    return faults_plan(sim);
}

int world_new(struct cv_sim **out, const struct cv_scenario *scenario, const struct cv_sim_options *options,
              struct elsewhere *elsewhere)
{
    struct cv_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return CV_ENOMEM;
    sim->scenario = scenario;
    sim->algorithm = scenario->algorithm;
    sim->group = scenario->group;
    sim->group.absence = scenario->crash_count || scenario->partition_count || scenario->suspicion_count;
    sim->elsewhere = elsewhere;
    sim->pause = scenario->until;
    if (options)
        sim->options = *options;
    sim->traced = sim->options.observer.event != NULL;
    sim->plain = is_plain(sim);
    sim->asks = asks(sim);
    sim->orderly = sim->algorithm->problem == CV_SYNCHRONIZER || cv_is_guarded(sim->algorithm);
    sim->self.group = &sim->group;
    sim->self.runtime = &runtime;
    cv_chance_seed(&sim->delays, scenario->seed, CV_CHANCE_DELAYS);
    cv_chance_seed(&sim->choices, scenario->seed, CV_CHANCE_CHOICES);
    cv_chance_seed(&sim->packets, scenario->seed, CV_CHANCE_PACKETS);
    struct cv_failure_listener *former = failures_listen(sim);
    const int error = build(sim);
    failures_end(sim, former);
    if (error) {
        cv_sim_free(sim);
        return CV_ENOMEM;
    }
    *out = sim;
    return 0;
}

int cv_sim_new(struct cv_sim **out, const struct cv_scenario *scenario, const struct cv_sim_options *options)
{
    return world_new(out, scenario, options, NULL);
}

bool cv_sim_is_plain(const struct cv_scenario *scenario)
{
    const struct cv_sim sim = {.scenario = scenario, .algorithm = scenario->algorithm, .group = scenario->group};
    return is_plain(&sim);
}

static void free_desk(struct cv_sim *sim)
{
    calendar_free(&sim->mail);
    calendar_free(&sim->backward);
    calendar_free(&sim->alarms);
    alarms_free(sim);
    arrivals_free(&sim->arrivals);
    free(sim->heard);
    fifo_free(&sim->fifo);
    free(sim->outbox);
}

/* The nodes are those of `world`; what a step needs is the worker's own. */
int world_new_worker(struct cv_sim **out, struct cv_sim *world, struct elsewhere *elsewhere)
{
    struct cv_sim *sim = cv_new_apart(sizeof *sim);
    if (!sim)
        return CV_ENOMEM;
    *sim = *world;
    sim->elsewhere = elsewhere;
    sim->self = (struct cv_self){.group = &sim->group, .runtime = &runtime};
    sim->mail = sim->backward = sim->alarms = (struct calendar){0};
    sim->fifo = (struct fifo){0};
    sim->arrivals = (struct arrivals){0};
    sim->timely = (struct alarm_order){0};
    sim->heard = NULL;
    sim->outbox = NULL;
    sim->load = NULL;
    sim->rounds = NULL;
    if (build_desk(sim) || load_init_worker(sim, world) || rounds_init_worker(sim, world)) {
        world_free_worker(sim);
        return CV_ENOMEM;
    }
    *out = sim;
    return 0;
}

void world_free_worker(struct cv_sim *sim)
{
    if (!sim)
        return;
    free_desk(sim);
    load_free_worker(sim);
    rounds_free_worker(sim);
    free(sim);
}

void cv_sim_free(struct cv_sim *sim)
{
    if (!sim)
        return;
    faults_free(sim);
    transport_free(sim);
    repeat_free(sim);
    load_free(sim);
    rounds_free(sim);
    views_free(sim);
    free_desk(sim);
    free(sim->nodes);
    free(sim->last_flags);
    free(sim->leaders);
    free(sim->places);
    free(sim->timer_due);
    free(sim->decided);
    free(sim);
}
