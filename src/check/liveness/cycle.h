// SPDX-License-Identifier: MIT
/* Finds runs that never end. */
#ifndef CONCLAVE_CHECK_LIVENESS_CYCLE_H
#define CONCLAVE_CHECK_LIVENESS_CYCLE_H

#include "check/liveness/state_graph.h"

/* A path through the graph: from the initial state to `states[loop]`, and from there round and round. */
struct lasso {
    uint32_t *states;  /* the first is 0; the last is states[loop] again */
    uint32_t *actions; /* the action that leads to each but the first; 0: any */
    uint32_t count;
    uint32_t room;
    uint32_t loop;
};

/*
 * Finds a cycle that a fair run can follow for ever: every action that must happen and stays possible happens in it.
 * With `waiting`, some node must wait in every state of the cycle. Without such a cycle the lasso is empty. `cyclic`
 * tells whether there is any cycle. 0 or CV_ENOMEM.
 */
int cycle_find(const struct state_graph *graph, bool waiting, struct lasso *lasso, bool *cyclic);
void lasso_free(struct lasso *lasso);

#endif
