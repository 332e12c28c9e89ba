// SPDX-License-Identifier: MIT
/*
 * Observes the rounds of a synchronizer from outside: counts the messages to a node in a round, and checks that it has
 * all of them when it begins the next. Also keeps the results of nodes.
 */
#include "sim/rounds.h"

#include <stdlib.h>

#include <conclave/synchronizer.h>

#include "sim/world.h"

struct outcome {
    uint64_t value;
    cv_node via;
    uint32_t updates;
};

struct rounds {
    uint32_t *round;         /* by node: its round */
    uint32_t (*sent_to)[2];  /* by node: messages of the app to it, in even and in odd rounds */
    struct outcome *outcome; /* by node: its result */
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

/*
 * A step may begin two rounds: the messages that end the first may overtake those that begin it, if it sends nothing.
 */
void rounds_pulse(struct cv_sim *sim)
{
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
