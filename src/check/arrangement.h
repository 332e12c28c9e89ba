// SPDX-License-Identifier: MIT
/*
 * Which id stands where. On a ring, or in a graph, it makes a difference who is next to whom; a check of one
 * arrangement says nothing about the others.
 */
#ifndef CONCLAVE_CHECK_ARRANGEMENT_H
#define CONCLAVE_CHECK_ARRANGEMENT_H

#include "check/check.h"

struct cv_arrangement {
    cv_id ids[CV_CHECK_MOST_NODES]; /* in node order */
    uint32_t nodes;
    uint32_t fixed; /* so many of the first stay where they are */
    uint64_t count; /* of arrangements, all together */
};

/*
 * The first: the scenario's own ids, in ascending order. Nodes that all reach each other have no arrangement but this
 * one. An election on a ring is the same wherever the ring begins, so the smallest id stays first; a ring that is
 * entered in turn begins at its first node, and in a graph neighbours have an order: there every arrangement renumbers.
 */
void cv_arrangement_first(struct cv_arrangement *arrangement, const struct cv_scenario *scenario);

/* The next; false after the last. */
bool cv_arrangement_next(struct cv_arrangement *arrangement);

#endif
