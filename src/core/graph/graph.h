// SPDX-License-Identifier: MIT
/*
 * Topologies, in compressed sparse rows as `struct cv_group` wants them: the neighbours of i, ascending, are
 * neighbours[edges[i] .. edges[i+1]). An edge is a link that carries messages both ways, and stands in the rows of both
 * its ends; each with a weight of its own, which is CV_NO_WAY where a path may not use it in that direction.
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

/* The shapes that cv_graph_make() knows, and their arguments: make_NAME() in graph_make.c makes one. Options, help and
 * complaints go by this list. */
#define CV_GRAPH_SHAPES(X)                                                                                             \
    X(ring, "")                                                                                                        \
    X(line, "")                                                                                                        \
    X(star, "")                                                                                                        \
    X(tree, "")                                                                                                        \
    X(complete, "")                                                                                                    \
    X(grid, ":RxC")                                                                                                    \
    X(random, ":EDGES")                                                                                                \
    X(geometric, ":RADIUS")                                                                                            \
    X(gadget, ":K")

/* "ring, line, ..., gadget:K, " */
#define CV_GRAPH_SPEC(name, argument) #name argument ", "
#define CV_GRAPH_SPECS CV_GRAPH_SHAPES(CV_GRAPH_SPEC)

#define CV_MOST_RUNGS 24u

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
 *   gadget:K          K triangles in a row, on which asynchronous Bellman-Ford takes exponentially long: for i = K..1
 *                     one may go from a(i) to a(i-1) for 2^(i-1), or over b(i) for nothing; nowhere back. The nodes
 *                     are a(K), b(K), a(K-1), b(K-1), ..., b(1), a(0)
 * Only random and geometric draw from `random`. On error the graph is empty.
 */
int cv_graph_make(struct cv_graph *graph, const char *spec, uint32_t nodes, struct cv_random *random,
                  struct cv_complaint *complaint);

/* Does the spec name a shape? Otherwise it is a list of edges or a file. */
bool cv_graph_is_shape(const char *spec);

/* How many nodes a topology has by itself: a grid or a gadget; 0 where any number will do, or none. */
uint32_t cv_graph_size(const char *spec);

/* K, if the spec is a valid gadget:K; otherwise 0. */
uint32_t cv_graph_gadget(const char *spec);

/*
 * Reads a graph file: lines `a b [weight]` that name two ids, a weight 0..2^32-2, both ways, or else 1; blank lines,
 * and comments from # on. Complaints begin with `name` and the line.
 */
int cv_graph_parse(struct cv_graph *graph, const char *text, const cv_id *ids, uint32_t nodes, const char *name,
                   struct cv_complaint *complaint);

/* The distinct ids of a graph file in ascending order, for the caller to free; a file without any is an error. */
int cv_graph_ids(const char *text, const char *name, cv_id **ids, uint32_t *nodes, struct cv_complaint *complaint);

/*
 * For each entry of neighbours[]: at which index of that neighbour's row this node stands. For the caller to free; NULL
 * if memory ran out.
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
