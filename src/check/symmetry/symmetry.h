// SPDX-License-Identifier: MIT
/*
 * Nodes that play the same part may change places: what can happen after a state and after the same with other names
 * is the same but for the names. Of all states that differ only in this one is enough. An algorithm has to say that it
 * never compares ids, and where nodes are named (`rename` in its table). Neither is taken for granted: every step that
 * is worked out is taken under every other name as well, and must lead to the same with other names. Then the states
 * that are left out lead to nothing new: they are the searched ones with other names, and so is all that follows.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_SYMMETRY_H
#define CONCLAVE_CHECK_SYMMETRY_SYMMETRY_H

#include "check/state/memo.h"
#include "check/step/node_step.h"

/* So many of the nodes change places at most. */
#define MOST_ALIKE 5u
#define MOST_NAMINGS 120u

/* A thread's own. */
struct symmetry {
    struct model *model;
    uint32_t count; /* of ways to name the nodes; 1: every node is like no other */
    cv_node names[MOST_NAMINGS][CV_CHECK_MOST_NODES];
    uint32_t swaps[MOST_ALIKE], swap_count;    /* the ways that exchange two of them: all others are made of these */
    uint32_t back[MOST_NAMINGS];               /* the way that undoes one */
    uint32_t behind[MOST_NAMINGS][MOST_ALIKE]; /* and the one that is the same as it and such an exchange */
    struct memo node_states, messages, contents, budget_sets; /* renamed, by number and way */
    struct host host;                                         /* that takes steps under other names, */
    struct node_state *scratch;                               /* here */
};

int symmetry_init(struct symmetry *symmetry, struct model *model);
void symmetry_free(struct symmetry *symmetry);

/* Of all it remembers. */
uint64_t symmetry_bytes(const struct symmetry *symmetry);

/* See memo_tidy(). */
void symmetry_tidy(struct symmetry *symmetry);

/* A step has been worked out, as the host shows: is it the same under all other names? */
void symmetry_follow(struct symmetry *symmetry, const struct host *host, uint32_t node_state,
                     enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome);

/* The same for all states that differ in names only, and for no others: the least of their fingerprints. */
struct print symmetry_print(struct symmetry *symmetry, const uint32_t *state, struct print print);

#endif
