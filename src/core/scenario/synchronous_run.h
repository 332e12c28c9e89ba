// SPDX-License-Identifier: MIT
/*
 * Runs a synchronous algorithm on a synchronous network, without a runtime: in every round all nodes send, then all
 * nodes receive. A synchronizer is judged by the states at the end, and its formulas count these messages.
 */
#ifndef CONCLAVE_CORE_SCENARIO_SYNCHRONOUS_RUN_H
#define CONCLAVE_CORE_SCENARIO_SYNCHRONOUS_RUN_H

#include "core/scenario/scenario.h"

struct cv_lockstep {
    unsigned char *states; /* of the app, node after node */
    uint64_t *places;      /* by node: where its state begins; the last entry is the end */
    uint64_t messages;     /* messages of all rounds */
    bool chose;            /* it drew random numbers, so another run may end differently */
};

/* Runs the scenario's app; 0 or CV_ENOMEM. Free the result in any case. */
int cv_lockstep_run(struct cv_lockstep *lockstep, const struct cv_scenario *scenario);
void cv_lockstep_free(struct cv_lockstep *lockstep);

#endif
