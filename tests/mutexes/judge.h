// SPDX-License-Identifier: MIT
/*
 * A second judge of mutual exclusion, written from the definitions without regard to speed: it compares every entry
 * with every other. property/mutex.c must agree with it.
 */
#ifndef CONCLAVE_TESTS_MUTEXES_JUDGE_H
#define CONCLAVE_TESTS_MUTEXES_JUDGE_H

#include "property/run.h"

/* Violations: numbers of pairs of entries, or of requests. */
struct verdicts {
    uint64_t overlaps;    /* two inside one critical section at once */
    uint64_t fences;      /* an entry whose fence is not higher than that of one before */
    uint64_t unserved;    /* requests of nodes that are alive in the end */
    uint64_t entered;     /* entries made */
    uint64_t out_of_turn; /* an entry before one requested earlier: (clock, id) */
    uint64_t overtaken;   /* two entries of one node while another waits: only of interest on a ring */
};

void judge(const struct cv_run *run, struct verdicts *verdicts);

#endif
