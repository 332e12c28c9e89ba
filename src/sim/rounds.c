// SPDX-License-Identifier: MIT
/*
 * Observes the rounds of a synchronizer from outside: counts the messages to a node in a round, and checks that it has
 * all of them when it begins the next. Also keeps the results of nodes.
 *
 * A worker of a shared run sees only its own nodes, so it looks for signs that are there whenever something is wrong:
 *
 *   - A message of the app arrives when its round is over, or would arrive then if the run went on. That is so if and
 *     only if a round began too early.
 *   - A node begins round r + 1 not later than a neighbour begins round r. Then it may have been two rounds ahead of
 *     the neighbour. Nodes with neighbours elsewhere tell when they begin a round, and the others remember when they
 *     did.
 *
 * At such a sign the run is doubtful: it is played again by one worker, which judges as always.
 */
#include "sim/rounds.h"

#include <stdlib.h>
#include <string.h>

#include <conclave/synchronizer.h>

#include "sim/world.h"

#define REMEMBERED 4u /* rounds whose beginning a worker remembers */

struct outcome {
    uint64_t value;
    cv_node via;
    uint32_t updates;
};

_Static_assert(sizeof(struct outcome) + sizeof(uint32_t) == ROUNDS_NODE_BYTES, "others make room for it");

struct rounds {
    uint32_t *round;         /* by node: its round */
    uint32_t (*sent_to)[2];  /* by node: messages of the app to it, in even and in odd rounds */
    struct outcome *outcome; /* by node: its result */

    /* A worker of a shared run. */
    uint64_t (*begun)[REMEMBERED]; /* by node: when its last rounds began */
    uint32_t *heard;               /* by node of another worker: the last round that it has told of */
};

int rounds_init(struct cv_sim *sim)
{
    const uint32_t nodes = sim->group.nodes, problem = sim->algorithm->problem;
    if (problem != CV_SYNCHRONIZER && problem != CV_PATHS)
        return 0;
    struct rounds *rounds = sim->rounds = calloc(1, sizeof *rounds);
    if (!rounds)
        return CV_ENOMEM;
    rounds->round = calloc(nodes, sizeof *rounds->round);
    rounds->sent_to = calloc(nodes, sizeof *rounds->sent_to);
    rounds->outcome = calloc(nodes, sizeof *rounds->outcome);
    return rounds->round && rounds->sent_to && rounds->outcome ? 0 : CV_ENOMEM;
}

void rounds_free(struct cv_sim *sim)
{
    if (!sim->rounds)
        return;
    free(sim->rounds->round);
    free(sim->rounds->sent_to);
    free(sim->rounds->outcome);
    free(sim->rounds);
}

int rounds_init_worker(struct cv_sim *worker, const struct cv_sim *world)
{
    const uint32_t nodes = worker->group.nodes;
    if (!world->rounds)
        return 0;
    struct rounds *rounds = worker->rounds = malloc(sizeof *rounds);
    if (!rounds)
        return CV_ENOMEM;
    *rounds = *world->rounds;
    rounds->begun = calloc(nodes, sizeof *rounds->begun);
    rounds->heard = calloc(nodes, sizeof *rounds->heard);
    return rounds->begun && rounds->heard ? 0 : CV_ENOMEM;
}

void rounds_free_worker(struct cv_sim *worker)
{
    if (!worker->rounds)
        return;
    free(worker->rounds->begun);
    free(worker->rounds->heard);
    free(worker->rounds);
}

static void slip(const struct cv_sim *sim, struct cv_slip *slip, cv_node node, cv_node other)
{
    if (slip->count++ == 0) {
        slip->time = sim->now;
        slip->round = sim->rounds->round[node];
        slip->node = node;
        slip->other = other;
    }
}

/* Counts the app's messages in this step: those of the first kind. A message may be too late when it is sent. */
static void count_sent(struct cv_sim *sim)
{
    const struct cv_self *me = &sim->self;
    struct rounds *rounds = sim->rounds;
    for (size_t at = me->outbox == sim->outbox ? 0 : sim->step_at; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        if (message->kind == 0 && rounds->round[message->to] > me->round)
            slip(sim, &sim->run.hasty, message->to, CV_NOBODY);
        else
            rounds->sent_to[message->to][me->round & 1] += message->kind == 0;
        at += cv_message_bytes(message);
    }
}

/* Tells the workers of the node's neighbours that it begins a round. Each hears of it once. */
static void tell_elsewhere(struct cv_sim *sim, uint32_t round)
{
    const struct cv_self *me = &sim->self;
    uint32_t told = UINT32_MAX;
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node neighbour = cv_neighbour(me, i);
        const uint32_t owner = elsewhere_owner(sim->elsewhere, neighbour);
        if (!elsewhere_has(sim->elsewhere, neighbour) || owner == told)
            continue;
        elsewhere_tell(sim->elsewhere, owner, (struct elsewhere_pulse){sim->now, me->node, round});
        told = owner;
    }
}

/* A worker's node begins a round. Its neighbours here are compared at once, those elsewhere when they are heard of. */
static void pulse_at_worker(struct cv_sim *sim)
{
    const struct cv_self *me = &sim->self;
    struct rounds *rounds = sim->rounds;
    uint32_t *round = &rounds->round[me->node];
    for (uint32_t next = *round + 1; next <= me->round; next++)
        rounds->begun[me->node][next % REMEMBERED] = sim->now;
    *round = (uint32_t)me->round;
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node neighbour = cv_neighbour(me, i);
        if (elsewhere_has(sim->elsewhere, neighbour))
            continue;
        const uint64_t theirs = rounds->round[neighbour];
        sim->elsewhere->doubtful |= theirs + 1 < me->round || theirs > me->round + 1;
    }
    tell_elsewhere(sim, *round);
}

void rounds_receive(struct cv_sim *worker, const struct cv_message *message)
{
    rounds_leave(worker, message, 0);
}

void rounds_leave(struct cv_sim *worker, const struct cv_message *first, uint32_t further)
{
    const struct cv_envelope *envelope = cv_body(first);
    if (first->kind != 0 || !worker->scenario->app)
        return;
    for (uint32_t i = 0; i <= further; i++)
        worker->elsewhere->doubtful |= envelope->round < worker->rounds->round[first->to + i];
}

void rounds_hear(struct cv_sim *worker, struct elsewhere_pulse pulse)
{
    struct rounds *rounds = worker->rounds;
    const struct cv_group *group = &worker->group;
    const uint32_t last = rounds->heard[pulse.node];
    rounds->heard[pulse.node] = pulse.round;
    for (uint64_t e = group->edges[pulse.node]; e < group->edges[pulse.node + 1]; e++) {
        const cv_node node = group->neighbours[e];
        if (elsewhere_has(worker->elsewhere, node))
            continue;
        const uint32_t here = rounds->round[node];
        for (uint32_t round = last + 1; round <= pulse.round; round++)
            if (here >= round + REMEMBERED ||
                (here > round && rounds->begun[node][(round + 1) % REMEMBERED] <= pulse.time))
                worker->elsewhere->doubtful = true;
    }
}

void rounds_compare(struct cv_sim *worker)
{
    const struct rounds *rounds = worker->rounds;
    const struct cv_group *group = &worker->group;
    if (!rounds || !worker->scenario->app)
        return;
    for (cv_node node = 0; node < group->nodes; node++)
        for (uint64_t e = group->edges[node]; world_has(worker, node) && e < group->edges[node + 1]; e++) {
            const cv_node neighbour = group->neighbours[e];
            if (elsewhere_has(worker->elsewhere, neighbour) && rounds->round[node] > rounds->heard[neighbour] + 1)
                worker->elsewhere->doubtful = true;
        }
}

void rounds_pack(const struct cv_sim *world, cv_node node, unsigned char *bytes)
{
    memcpy(bytes, &world->rounds->outcome[node], sizeof(struct outcome));
    memcpy(bytes + sizeof(struct outcome), &world->rounds->round[node], sizeof(uint32_t));
}

void rounds_unpack(struct cv_sim *world, cv_node node, const unsigned char *bytes)
{
    memcpy(&world->rounds->outcome[node], bytes, sizeof(struct outcome));
    memcpy(&world->rounds->round[node], bytes + sizeof(struct outcome), sizeof(uint32_t));
}

_Static_assert(ROUNDS_NODE_BYTES + 4 + REMEMBERED * sizeof(uint64_t) == ROUNDS_WORKER_BYTES, "others make room for it");

void rounds_save(const struct cv_sim *worker, cv_node node, unsigned char *bytes)
{
    rounds_pack(worker, node, bytes);
    memset(bytes + ROUNDS_NODE_BYTES, 0, 4);
    memcpy(bytes + ROUNDS_NODE_BYTES + 4, worker->rounds->begun[node], sizeof *worker->rounds->begun);
}

void rounds_restore(struct cv_sim *worker, cv_node node, const unsigned char *bytes)
{
    struct rounds *rounds = worker->rounds;
    if (world_has(worker, node)) {
        rounds_unpack(worker, node, bytes);
        memcpy(rounds->begun[node], bytes + ROUNDS_NODE_BYTES + 4, sizeof *rounds->begun);
    } else {
        memcpy(&rounds->heard[node], bytes + sizeof(struct outcome), sizeof *rounds->heard);
    }
}

/*
 * A step may begin two rounds: the messages that end the first may overtake those that begin it, if it sends nothing.
 */
void rounds_pulse(struct cv_sim *sim)
{
    if (sim->elsewhere) {
        pulse_at_worker(sim);
        return;
    }
    const struct cv_self *me = &sim->self;
    struct rounds *rounds = sim->rounds;
    uint32_t *sent = rounds->sent_to[me->node], *round = &rounds->round[me->node];
    const uint32_t last = (me->round - 1) & 1, before = me->round > *round + UINT64_C(1) ? sent[!last] : 0;
    const bool hasty = me->received < (uint64_t)sent[last] + before;
    sent[last] = 0;
    sent[!last] -= before;
    *round = (uint32_t)me->round;
    if (hasty)
        slip(sim, &sim->run.hasty, me->node, CV_NOBODY);
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node neighbour = cv_neighbour(me, i);
        const uint64_t theirs = rounds->round[neighbour];
        if (theirs + 1 < me->round || theirs > me->round + 1)
            slip(sim, &sim->run.apart, me->node, neighbour);
    }
    count_sent(sim);
}

/* An election, say, may write results to the trace, though no judge asks for them. */
void rounds_result(struct cv_sim *sim)
{
    if (!sim->rounds)
        return;
    struct outcome *outcome = &sim->rounds->outcome[sim->self.node];
    outcome->value = sim->self.result;
    outcome->via = sim->self.via;
    outcome->updates++;
}

void rounds_stand(const struct cv_sim *sim, cv_node node, struct cv_standing *standing)
{
    if (!sim->rounds)
        return;
    standing->result = sim->rounds->outcome[node].value;
    standing->via = sim->rounds->outcome[node].via;
    standing->updates = sim->rounds->outcome[node].updates;
}

static const void *app_state(const void *runtime, cv_node node)
{
    const struct cv_sim *sim = runtime;
    return (const unsigned char *)(world_node(sim, node) + 1) + sim->group.hosted_at + sizeof(uint64_t);
}

static uint64_t round_of(const void *runtime, cv_node node)
{
    return ((const struct cv_sim *)runtime)->rounds->round[node];
}

void rounds_tell(struct cv_sim *sim)
{
    if (!sim->scenario->app)
        return;
    sim->run.app_state = app_state;
    sim->run.round = round_of;
}
