// SPDX-License-Identifier: MIT
/*
 * A checker too simple to be wrong: full states as byte strings, one list, one hash set, no reduction, nothing
 * remembered. It shares no code with src/check, so that both must have made the same mistake to agree on a wrong count.
 */
#ifndef CONCLAVE_TESTS_CHECK_NAIVE_H
#define CONCLAVE_TESTS_CHECK_NAIVE_H

#include "core/scenario/scenario.h"

struct naive_options {
    uint32_t callers, crashes, missed, suspicions, recoveries, cuts;
    bool any_time;
    bool symmetry;    /* of states that differ in names only, one */
    bool drop_clocks; /* once nobody will ask any more; or they go no further than all requests that wait */
    bool inside;      /* the first node is inside from the beginning, in a view that follows another */
    uint64_t most;    /* states; 0: no bound */
    /* Which request is made when, instead of by clocks that tick: from 1 on, all entries of the first node first. */
    const uint32_t *times;
    /* Is shown what can be seen of every state from outside: who waits or is inside, which kinds are under way. */
    void (*look)(const uint32_t *outline, uint32_t count);
};

struct naive_result {
    uint64_t states, transitions, ends;
    uint32_t depth;
    bool two_inside; /* in some state */
    bool stuck;      /* in some end somebody waits to enter, or follows another than its neighbours */
};

void naive_run(const struct cv_scenario *scenario, const struct naive_options *options, struct naive_result *result);

#endif
