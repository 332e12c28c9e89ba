// SPDX-License-Identifier: MIT
/* The whole graph of states, numbered in the order of a breadth-first search: what cycles are looked for in. */
#ifndef CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H
#define CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H

#include "check/expand/expander.h"

struct edge {
    uint32_t to;
    uint32_t action;
};

struct state_graph {
    uint32_t count;
    uint64_t *first; /* the edges of state i are edges[first[i] .. first[i + 1]) */
    struct edge *edges;
    uint32_t *parent; /* where each state was first seen from */
    bool *waits;      /* somebody waits to enter in it, or knows no leader */
    uint64_t bytes;
    uint32_t depth;
    bool too_large; /* for the memory there may be: it is not complete */

    /* From fingerprints to numbers. */
    struct fingerprint *fingerprints;
    uint32_t *slots; /* number + 1 */
    uint64_t slot_mask;
    uint64_t room, edge_room;
};

/* 0, or CV_ENOMEM for what cannot be done without. With `reduction`, only as much as tells whether there are cycles. */
int state_graph_build(struct state_graph *graph, struct model *model, bool reduction);
void state_graph_free(struct state_graph *graph);

/* The number of the state with that fingerprint, or UINT32_MAX. */
uint32_t state_graph_find(const struct state_graph *graph, struct fingerprint fingerprint);

#endif
