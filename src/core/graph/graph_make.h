// SPDX-License-Identifier: MIT
/* Graphs by the names of their shapes: ring, grid:RxC, random:EDGES. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_MAKE_H
#define CONCLAVE_CORE_GRAPH_GRAPH_MAKE_H

#include "core/graph/graph.h"

/*
 * The shapes that cv_graph_make() knows, and their arguments. make_NAME() in graph_make.c makes one. Options, help and
 * complaints are made from this list.
 */
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

/* The number of nodes that a grid or a gadget has by its spec; 0 for other shapes, and if the spec is wrong. */
uint32_t cv_graph_size(const char *spec);

/* K, if the spec is a valid gadget:K; otherwise 0. */
uint32_t cv_graph_gadget(const char *spec);

#endif
