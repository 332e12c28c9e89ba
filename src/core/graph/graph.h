// SPDX-License-Identifier: MIT
/*
 * Topologies, in compressed sparse rows as `struct cv_group` wants them: the neighbours of i, ascending, are
 * neighbours[edges[i] .. edges[i+1]). An edge is a link that carries messages both ways, and is in the rows of both its
 * ends. Each direction has its own weight, CV_NO_WAY if no path may use it.
 */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_H
#define CONCLAVE_CORE_GRAPH_GRAPH_H

#include "core/error.h"
#include "core/random.h"

#include <conclave/algorithm.h>

struct cv_graph {
    uint64_t *edges;
    cv_node *neighbours;
    uint32_t *weights; /* of neighbours[], or NULL: all 1 */
    uint32_t nodes;
};

/*
 * For each entry of neighbours[]: the index of this node in that neighbour's row. The caller frees it; NULL if memory
 * ran out.
 */
uint32_t *cv_graph_ends(const struct cv_graph *graph);

/* Releases the rows; an empty (zeroed) graph is fine too. */
void cv_graph_free(struct cv_graph *graph);

static inline uint64_t cv_graph_edge_count(const struct cv_graph *graph)
{
    return graph->edges ? graph->edges[graph->nodes] / 2 : 0;
}

static inline uint64_t cv_graph_degree(const struct cv_graph *graph, cv_node node)
{
    return graph->edges[node + 1] - graph->edges[node];
}

/*
 * How many connected components there are; 0 if memory ran out. `label`, unless NULL, gets each node's component,
 * numbered from 0 in the order of their first nodes.
 */
uint32_t cv_graph_components(const struct cv_graph *graph, uint32_t *label);

/*
 * The greatest distance, in edges, from `source` to a node it can reach; UINT32_MAX if memory ran out.
 * `deep_branching`, unless NULL, says whether some node at that distance has a neighbour besides its parent.
 */
uint32_t cv_graph_eccentricity(const struct cv_graph *graph, cv_node source, bool *deep_branching);

#endif
