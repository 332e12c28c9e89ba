// SPDX-License-Identifier: MIT
/* Graphs as files and lists of edges. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_PARSE_H
#define CONCLAVE_CORE_GRAPH_GRAPH_PARSE_H

#include "core/graph/graph.h"

/*
 * Reads a graph file: lines `a b [weight]` of two ids and a weight 0..2^32-2 for both directions, by default 1; blank
 * lines, and comments from # on. Complaints begin with `name` and the line.
 */
int cv_graph_parse(struct cv_graph *graph, const char *text, const cv_id *ids, uint32_t nodes, const char *name,
                   struct cv_complaint *complaint);

/* The distinct ids of a graph file in ascending order, for the caller to free; a file without any is an error. */
int cv_graph_ids(const char *text, const char *name, cv_id **ids, uint32_t *nodes, struct cv_complaint *complaint);

#endif
