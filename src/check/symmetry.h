// SPDX-License-Identifier: MIT
/*
 * Nodes that play the same part may change places: what can happen after a state and after the same with other names
 * is the same but for the names. Of all states that differ only in this one is enough. An algorithm has to say that it
 * never compares ids, and where nodes are named (`rename` in its table).
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_H
#define CONCLAVE_CHECK_SYMMETRY_H

#include "check/memo.h"
#include "check/model.h"

/* So many of the nodes change places at most. */
#define MOST_ALIKE 5u
#define MOST_NAMINGS 120u

/* A thread's own. */
struct symmetry {
    struct model *model;
    uint32_t count; /* of ways to name the nodes; 1: every node is like no other */
    cv_node names[MOST_NAMINGS][CV_CHECK_MOST_NODES];
    struct memo places, contents, worlds; /* renamed, by number and way */
};

int symmetry_init(struct symmetry *symmetry, struct model *model);
void symmetry_free(struct symmetry *symmetry);

/* Of all it remembers. */
uint64_t symmetry_bytes(const struct symmetry *symmetry);

/* See memo_tidy(). */
void symmetry_tidy(struct symmetry *symmetry);

/* The same for all states that differ in names only, and for no others: the least of their fingerprints. */
struct print symmetry_print(struct symmetry *symmetry, const uint32_t *state, struct print print);

#endif
