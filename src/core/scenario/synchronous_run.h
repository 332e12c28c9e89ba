// SPDX-License-Identifier: MIT
/*
 * A synchronous algorithm on the network it is written for, without a runtime: in every round everybody sends, then
 * everybody receives. What a synchronizer is judged by, and whose messages its formulas count.
 */
#ifndef CONCLAVE_CORE_SCENARIO_SYNCHRONOUS_RUN_H
#define CONCLAVE_CORE_SCENARIO_SYNCHRONOUS_RUN_H

#include "core/scenario/scenario.h"

struct cv_lockstep {
    unsigned char *states; /* of the app, node after node */
    uint64_t *places;      /* where a node's begins, and all end */
    uint64_t messages;     /* in all rounds */
    bool chose;            /* it drew random numbers: another run need not come to the same */
};

/* Runs the scenario's app; 0 or CV_ENOMEM. To be freed in any case. */
int cv_lockstep_run(struct cv_lockstep *lockstep, const struct cv_scenario *scenario);
void cv_lockstep_free(struct cv_lockstep *lockstep);

#endif
