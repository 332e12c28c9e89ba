// SPDX-License-Identifier: MIT
/* The whole graph of states, numbered in the order of a breadth-first search: what cycles are looked for in. */
#ifndef CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H
#define CONCLAVE_CHECK_LIVENESS_STATE_GRAPH_H

#include "check/expand/successors.h"

struct edge {
    uint32_t to;
    uint32_t action;
};

struct graph {
    uint32_t count;
    uint64_t *first; /* the edges of state i are edges[first[i] .. first[i + 1]) */
    struct edge *edges;
    uint32_t *parent; /* where each state was first seen from */
    bool *waits;      /* somebody waits to enter in it, or knows no leader */
    uint64_t bytes;
    uint32_t depth;
    bool too_large; /* for the memory there may be: it is not complete */

    /* From fingerprints to numbers. */
    struct print *prints;
    uint32_t *slots; /* number + 1 */
    uint64_t slot_mask;
    uint64_t room, edge_room;
};

/* 0, or CV_ENOMEM for what cannot be done without. With `reduction`, only as much as tells whether there are cycles. */
int graph_build(struct graph *graph, struct model *model, bool reduction);
void graph_free(struct graph *graph);

/* The number of the state with that print, or UINT32_MAX. */
uint32_t graph_find(const struct graph *graph, struct print print);

#endif
