// SPDX-License-Identifier: MIT
/*
 * A checker too simple to be wrong: full states as byte strings, one list, one hash set, no reduction, no memos. It
 * shares no code with src/check. So both must make the same mistake to agree on a wrong count.
 */
#ifndef CONCLAVE_TESTS_CHECK_NAIVE_H
#define CONCLAVE_TESTS_CHECK_NAIVE_H

#include "core/scenario/scenario.h"

struct naive_options {
    uint32_t callers, crashes, missed, suspicions, recoveries, cuts;
    bool any_time;
    uint32_t delay;        /* a message takes at most so many ticks, and timers are on time; 0: no bound */
    bool symmetry;         /* identify states that differ only in names */
    bool drop_clocks;      /* after the last request, drop the clocks, or cap them above all waiting requests */
    bool inside;           /* the first node is inside at the beginning, in a view that follows another */
    uint64_t most;         /* states; 0: no bound */
    const uint32_t *times; /* fixed times of requests, from 1 on, those of the first node first; NULL: clocks tick */
    /* Gets an outline of every state: which nodes wait or are inside, which kinds of messages are under way. */
    void (*look)(const uint32_t *outline, uint32_t count);
};

struct naive_result {
    uint64_t states, transitions, ends;
    uint32_t depth;
    bool two_inside; /* in some state */
    bool stuck;      /* in some end a node waits to enter, or follows another leader than its neighbours */
    bool apart;      /* in some state the rounds of neighbours differ by more than one */
    bool late;       /* in some state a message of a round is on its way to a node that has ended that round */
    bool wrong; /* in some end a node has another state or result than the naive synchronous run or Floyd's paths */
};

void naive_run(const struct cv_scenario *scenario, const struct naive_options *options, struct naive_result *result);

#endif
