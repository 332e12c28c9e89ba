// SPDX-License-Identifier: MIT
/* What the files of the graph share: a growing list of edges and the graph made of it. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_BUILD_H
#define CONCLAVE_CORE_GRAPH_GRAPH_BUILD_H

#include "core/graph/graph.h"

struct cv_edge {
    cv_node a, b;
    uint64_t key;          /* what the list is sorted by: a length, a line */
    uint32_t weight, back; /* from a to b, and from b to a */
};

struct cv_edges {
    struct cv_edge *list;
    uint64_t count, room;
    bool exhausted; /* memory ran out; told once, by cv_graph_build */
};

void cv_edges_add(struct cv_edges *edges, struct cv_edge edge);

/* Orders by key, then by ends. */
void cv_edges_sort(struct cv_edges *edges);

/* Turns edges, each given once, into rows; frees the list in any case. */
int cv_graph_build(struct cv_graph *graph, uint32_t nodes, struct cv_edges *edges);

/* Adds the edges of geometric:RADIUS. */
int cv_graph_geometric(struct cv_edges *edges, const char *radius, uint32_t nodes, struct cv_random *random,
                       struct cv_complaint *complaint);

/*
 * Components as disjoint sets: parent[i] leads to the component's first node, which is its own parent.
 * cv_graph_join says whether a and b were apart.
 */
static inline uint32_t cv_graph_first(uint32_t *parent, cv_node node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}

static inline bool cv_graph_join(uint32_t *parent, cv_node a, cv_node b)
{
    a = cv_graph_first(parent, a);
    b = cv_graph_first(parent, b);
    parent[a < b ? b : a] = a < b ? a : b;
    return a != b;
}

#endif
