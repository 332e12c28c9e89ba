// SPDX-License-Identifier: MIT
/*
 * Topologies, in compressed sparse rows as `struct cv_group` wants them: the neighbours of i, ascending, are
 * neighbours[edges[i] .. edges[i+1]). Edges have no direction; each stands in the rows of both its ends.
 */
#ifndef CONCLAVE_CORE_GRAPH_H
#define CONCLAVE_CORE_GRAPH_H

#include "core/error.h"
#include "core/random.h"

#include <conclave/algorithm.h>

struct cv_graph {
    uint64_t *edges;
    cv_node *neighbours;
    uint32_t *weights; /* of neighbours[], or NULL: all 1 */
    uint32_t nodes;
};

/* What cv_graph_make understands. */
#define CV_GRAPH_SPECS "ring, line, star, tree, complete, grid:RxC, random:EDGES or geometric:RADIUS"

/*
 * Makes the topology that `spec` names; always connected.
 *   ring, line        in node order
 *   star              around node 0
 *   tree              balanced and binary: the parent of i is (i-1)/2
 *   grid:RxC          R rows of C nodes, row by row
 *   random:EDGES      a random spanning tree, all equally likely, and random edges besides
 *   geometric:RADIUS  nodes at random points of the unit square, joined when closer than RADIUS (rounded up to a
 *                     multiple of 2^-30); then, while there is more than one component, by the shortest edge
 *                     between any two of them
 * Only the last two draw from `random`. On error the graph is empty.
 */
int cv_graph_make(struct cv_graph *graph, const char *spec, uint32_t nodes, struct cv_random *random,
                  struct cv_complaint *complaint);

/*
 * Reads a graph file: lines `a b [weight]` that name two ids, a weight 0..2^32-1 or else 1; blank lines, and
 * comments from # on. Complaints begin with `name` and the line.
 */
int cv_graph_parse(struct cv_graph *graph, const char *text, const cv_id *ids, uint32_t nodes, const char *name,
                   struct cv_complaint *complaint);

/* The distinct ids of a graph file in ascending order, for the caller to free; a file without any is an error. */
int cv_graph_ids(const char *text, const char *name, cv_id **ids, uint32_t *nodes, struct cv_complaint *complaint);

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
