// SPDX-License-Identifier: MIT
/*
 * Which id stands where. On a ring, or in a graph, it matters which ids are neighbours. A check of one arrangement says
 * nothing about the others.
 */
#ifndef CONCLAVE_CHECK_ARRANGEMENT_H
#define CONCLAVE_CHECK_ARRANGEMENT_H

#include "check/check.h"

struct cv_arrangement {
    cv_id ids[CV_CHECK_MOST_NODES]; /* in node order */
    uint32_t nodes;
    uint32_t fixed; /* nodes at the beginning that keep their ids */
    uint64_t count; /* of all arrangements */
};

/*
 * The first arrangement: the ids of the scenario in ascending order. If every node reaches every other, it is the only
 * one. An election on a ring is the same wherever the ring begins, so the smallest id stays first. A ring for mutual
 * exclusion begins at its first node, and in a graph neighbours have an order: there every arrangement counts.
 */
void cv_arrangement_first(struct cv_arrangement *arrangement, const struct cv_scenario *scenario);

/* The next; false after the last. */
bool cv_arrangement_next(struct cv_arrangement *arrangement);

#endif
