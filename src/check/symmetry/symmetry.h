// SPDX-License-Identifier: MIT
/*
 * Nodes that play the same part are interchangeable: a state and its image under other names have the same future
 * except for the names. So the search keeps one of all such states. An algorithm has to say that it never compares ids,
 * and where nodes are named (`rename` in its table). The checker tests both: it takes computed steps under other names
 * as well and compares the results. If they agree, the states that are left out lead to nothing new.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_SYMMETRY_H
#define CONCLAVE_CHECK_SYMMETRY_SYMMETRY_H

#include "check/step/stepper.h"

#define MOST_INTERCHANGEABLE 5u /* nodes */
#define MOST_PERMUTATIONS 120u

/* A thread's own. */
struct symmetry {
    struct promise_test test; /* first, so that one pointer is the other */
    struct model *model;
    uint32_t count; /* of permutations of the nodes, the identity first; 1: there is no symmetry */
    cv_node names[MOST_PERMUTATIONS][CV_CHECK_MOST_NODES];
    uint32_t swaps[MOST_INTERCHANGEABLE]; /* the permutations that exchange two neighbours; they generate all others */
    uint32_t swap_count;
    uint32_t inverse[MOST_PERMUTATIONS];
    uint32_t then_swap[MOST_PERMUTATIONS][MOST_INTERCHANGEABLE]; /* the permutation followed by a swap */
    struct memo node_states;                                     /* renamed, by number and permutation; as the next */
    struct memo messages;
    struct memo contents;
    struct memo budget_sets;
    struct runner runner;       /* takes steps under other names */
    struct node_state *scratch; /* the node state of these steps */
};

/* 0 or CV_ENOMEM; free it in both cases. */
int symmetry_init(struct symmetry *symmetry, struct model *model);
void symmetry_free(struct symmetry *symmetry);

/* The bytes of its memos. */
uint64_t symmetry_bytes(const struct symmetry *symmetry);

/* See memo_tidy(). */
void symmetry_tidy(struct symmetry *symmetry);

/* The least fingerprint of all states that differ from this one only in names. */
struct fingerprint symmetry_fingerprint(struct symmetry *symmetry, const uint32_t *state,
                                        struct fingerprint fingerprint);

/* Turns a state into the one with that fingerprint, and returns it. Whoever expands that one depends on no names. */
struct fingerprint symmetry_represent(struct symmetry *symmetry, uint32_t *state, struct fingerprint fingerprint);

#endif
