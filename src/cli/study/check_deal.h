// SPDX-License-Identifier: MIT
/*
 * Small checks side by side. A check of a few thousand states is too small to be shared: its levels end before all
 * threads have begun. So each thread of each rank gets checks of its own.
 *
 * Only what held is told. A check that found something, or did not come to its end, has to be made again by everybody:
 * so counterexamples, and what memory is enough for, do not depend on who checks.
 */
#ifndef CONCLAVE_CLI_STUDY_CHECK_DEAL_H
#define CONCLAVE_CLI_STUDY_CHECK_DEAL_H

#include "check/check.h"

/* What ranks tell each other: no pointers. */
struct dealt_result {
    bool held; /* it is complete, and nothing is wrong */
    bool reduced;
    bool cyclic;
    uint32_t depth;
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;
    uint64_t bytes;
    double collision;
    uint32_t finding_count;
    enum cv_verdict findings[CV_MAX_FINDINGS];
};

/* Prepares the check of that number. 0, or an error that ends everything. The scenario is freed after the check. */
typedef int (*deal_prepare)(void *context, uint32_t number, struct cv_scenario *scenario,
                            struct cv_check_options *options);

struct deal {
    uint32_t count;   /* of checks */
    uint32_t threads; /* of each rank */
    struct cv_ranks *ranks;
    deal_prepare prepare; /* it is called by one thread at a time, for the checks of this rank */
    void *context;
};

/* All checks; results come in their order. After the first that did not hold, some may be left out. 0 or an error. */
int check_deal(const struct deal *deal, struct dealt_result *results);

#endif
