// SPDX-License-Identifier: MIT
/* A growing list of edges, and the graph that it becomes. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_BUILD_H
#define CONCLAVE_CORE_GRAPH_GRAPH_BUILD_H

#include "core/graph/graph.h"

struct graph_edge {
    cv_node a, b;
    uint64_t key;    /* the list is sorted by the key: a length, or the number of a line */
    uint32_t weight; /* from a to b */
    uint32_t back;   /* from b to a */
};

struct edge_list {
    struct graph_edge *list;
    uint64_t count; /* edges in the list */
    uint64_t room;  /* edges it has room for */
    bool exhausted; /* memory ran out; graph_build returns CV_ENOMEM */
};

void edge_list_add(struct edge_list *edges, struct graph_edge edge);

/* Orders by key, then by ends. */
void edge_list_sort(struct edge_list *edges);

/* Turns a list that has each edge once into the rows of a graph. Frees the list in any case. */
int graph_build(struct cv_graph *graph, uint32_t nodes, struct edge_list *edges);

/*
 * Components as disjoint sets: parent[i] leads to the component's first node, which is its own parent.
 * component_join joins the components of a and b, and says whether they were two.
 */
static inline uint32_t component_first(uint32_t *parent, cv_node node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}

static inline bool component_join(uint32_t *parent, cv_node a, cv_node b)
{
    a = component_first(parent, a);
    b = component_first(parent, b);
    parent[a < b ? b : a] = a < b ? a : b;
    return a != b;
}

#endif
