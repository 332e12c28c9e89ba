// SPDX-License-Identifier: MIT
/*
 * Shares of a graph, for threads and ranks that simulate one run together: parts of about the same weight, with few
 * edges between them. A node weighs its degree plus one, which is about its share of the messages.
 *
 * Who gets which node changes no byte of a run, so two programs may cut differently. Those that work on the same run
 * must not: one of them cuts, and tells the others.
 */
#ifndef CONCLAVE_PARTITION_PARTITION_H
#define CONCLAVE_PARTITION_PARTITION_H

#include <conclave/algorithm.h>

#define CV_MOST_PARTS 65535u

/* The rows of `struct cv_group`: an edge is in the rows of both its ends. */
struct cv_partition_rows {
    const uint64_t *edges;
    const cv_node *neighbours;
    uint32_t nodes;
};

/*
 * Sets part_of[node] for every node, the same for the same rows and number of parts. Parts are not empty if there are
 * nodes enough. `parts` is 1 to CV_MOST_PARTS. Returns 0 or CV_ENOMEM.
 */
int cv_partition(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of);

/* The same without METIS: of runs of nodes in their own order and in breadth-first order, those that cut less. */
int cv_partition_blocks(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of);

struct cv_partition_quality {
    double most_weight;      /* of a part, as a multiple of an equal share: 1.03 is 3 % too much */
    uint64_t cut_edges;      /* those with ends in two parts, each counted once */
    uint32_t least_nodes;    /* of a part */
    uint32_t most_nodes;     /* of a part */
    uint32_t boundary_nodes; /* nodes with a neighbour in another part */
};

/* Returns 0 or CV_ENOMEM. */
int cv_partition_measure(const struct cv_partition_rows *rows, uint32_t parts, const uint16_t *part_of,
                         struct cv_partition_quality *quality);

#endif
