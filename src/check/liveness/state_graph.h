// SPDX-License-Identifier: MIT
/* The whole graph of states, numbered in the order of a breadth-first search. cycle.h looks for cycles in it. */
#ifndef CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H
#define CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H

#include "check/expand/expander.h"

struct edge {
    uint32_t to;
    uint32_t action; /* for fairness: see transition.h */
};

struct state_graph {
    uint32_t count;
    uint64_t *first; /* the edges of state i are edges[first[i] .. first[i + 1]) */
    struct edge *edges;
    uint32_t *parent; /* by state: the state that it was first reached from */
    bool *waits;      /* by state: some node waits to enter, or knows no leader */
    uint64_t bytes;
    uint32_t depth;
    bool too_large; /* for the memory, or interrupted: it is not complete */

    struct fingerprint *fingerprints; /* by state */
    uint32_t *slots;                  /* a hash table of states: number + 1 */
    uint64_t slot_mask;
    uint64_t room;
    uint64_t edge_room;
};

/* 0, or CV_ENOMEM if it cannot begin. With `reduction`, it keeps just whether there are cycles. Free it in any case. */
int state_graph_build(struct state_graph *graph, struct model *model, bool reduction);
void state_graph_free(struct state_graph *graph);

/* The number of a state, or UINT32_MAX. */
uint32_t state_graph_find(const struct state_graph *graph, struct fingerprint fingerprint);

#endif
