// SPDX-License-Identifier: MIT
/* Distances of all nodes of a graph from one node. The results of distributed algorithms are compared with them. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_PATHS_H
#define CONCLAVE_CORE_GRAPH_GRAPH_PATHS_H

#include "core/graph/graph.h"

#define CV_UNREACHED UINT64_MAX

/* The length of an edge: its weight, or one. */
enum cv_length { CV_BY_WEIGHT, CV_BY_HOPS };

/*
 * The length of the edge to neighbours[i] from the node whose row that is; CV_NO_WAY if the edge leads the other way.
 */
static inline uint32_t cv_graph_length(const struct cv_graph *graph, uint64_t i, enum cv_length length)
{
    const uint32_t weight = graph->weights ? graph->weights[i] : 1;
    return length == CV_BY_WEIGHT || weight == CV_NO_WAY ? weight : 1;
}

/*
 * Dijkstra's distances from `source`, or CV_UNREACHED. No path leads through a node that is `absent`; NULL: none is. 0
 * or CV_ENOMEM.
 */
int cv_graph_distances(const struct cv_graph *graph, cv_node source, enum cv_length length, const bool *absent,
                       uint64_t *distances);

/* The length of the edge from one node to another; CV_NO_WAY if there is none in that direction. */
uint32_t cv_graph_step(const struct cv_graph *graph, cv_node from, cv_node to, enum cv_length length);

#endif
