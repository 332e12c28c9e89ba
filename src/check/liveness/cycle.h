// SPDX-License-Identifier: MIT
/* Runs that never end. */
#ifndef CONCLAVE_CHECK_LIVENESS_CYCLE_H
#define CONCLAVE_CHECK_LIVENESS_CYCLE_H

#include "check/liveness/state_graph.h"

/* A way through the graph: from the first state to `states[loop]`, and from there round and round. */
struct lasso {
    uint32_t *states;  /* the first is 0; the last is states[loop] again */
    uint32_t *actions; /* that led to each but the first; 0: any */
    uint32_t count, room, loop;
};

/*
 * Looks for a cycle that a fair run can follow for ever: whatever must happen and stays possible all along happens in
 * it. With `waiting`, only where somebody waits all along (see graph.h). 0 or CV_ENOMEM; no lasso if there is no such
 * cycle. `cyclic` tells whether there is any cycle at all.
 */
int cycle_find(const struct state_graph *graph, bool waiting, struct lasso *lasso, bool *cyclic);
void lasso_free(struct lasso *lasso);

#endif
