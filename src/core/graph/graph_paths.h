// SPDX-License-Identifier: MIT
/* How far the nodes of a graph are from one of them. What distributed algorithms come to is judged by it. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_PATHS_H
#define CONCLAVE_CORE_GRAPH_GRAPH_PATHS_H

#include "core/graph/graph.h"

#define CV_UNREACHED UINT64_MAX

/* What an edge counts: its weight, or one. */
enum cv_length { CV_BY_WEIGHT, CV_BY_HOPS };

/* From the node in whose row place `i` of neighbours[] lies, to that neighbour; CV_NO_WAY if one may not go there. */
static inline uint32_t cv_graph_length(const struct cv_graph *graph, uint64_t i, enum cv_length length)
{
    const uint32_t weight = graph->weights ? graph->weights[i] : 1;
    return length == CV_BY_WEIGHT || weight == CV_NO_WAY ? weight : 1;
}

/*
 * Dijkstra's distances from `source`, or CV_UNREACHED. No way leads through a node that is `absent`, where that is not
 * NULL. 0 or CV_ENOMEM.
 */
int cv_graph_distances(const struct cv_graph *graph, cv_node source, enum cv_length length, const bool *absent,
                       uint64_t *distances);

/* What it costs to go from one node to its neighbour; CV_NO_WAY if it is none, or one may not go there. */
uint32_t cv_graph_step(const struct cv_graph *graph, cv_node from, cv_node to, enum cv_length length);

#endif
