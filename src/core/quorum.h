// SPDX-License-Identifier: MIT
/* Voting sets: any two have a member in common, and every node is in its own set. */
#ifndef CONCLAVE_CORE_QUORUM_H
#define CONCLAVE_CORE_QUORUM_H

#include "core/error.h"
#include "core/index.h"

#include <conclave/algorithm.h>

/* The set of i is voters[starts[i] .. starts[i+1]), sorted. */
struct cv_quorums {
    uint64_t *starts;
    cv_node *voters;
    uint32_t nodes;
};

/*
 * Sets over some of the nodes (NULL: all), by shape; any other node gets an empty set.
 *   grid   the members in rows of about √N; a set is a node's row and column, 2√N − 1 in a full square
 *   plane  a projective plane where there is one, N = K(K − 1) + 1 with K − 1 prime (or 1): sets of K
 *
 * The sets are empty after an error.
 */
int cv_quorums_make(struct cv_quorums *quorums, const char *shape, uint32_t nodes, const cv_node *members,
                    uint32_t member_count, struct cv_complaint *complaint);

/*
 * Reads lines `id: id id ...`, one for each node in any order; # begins a comment. Complains by name and line if a node
 * has no set, two sets or one without itself, or if two sets do not meet.
 */
int cv_quorums_parse(struct cv_quorums *quorums, const char *text, const struct cv_index *index, uint32_t nodes,
                     const cv_id *ids, const char *name, struct cv_complaint *complaint);

void cv_quorums_free(struct cv_quorums *quorums);

#endif
