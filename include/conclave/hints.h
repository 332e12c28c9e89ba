// SPDX-License-Identifier: MIT
/*
 * What an algorithm may tell the tools about itself. Most algorithms need no hint. Two are not optional: an algorithm
 * that asks for the Lamport clock says so (`clocked`), and one whose messages go round for ever says so (`perpetual`).
 */
#ifndef CONCLAVE_HINTS_H
#define CONCLAVE_HINTS_H

#include <conclave/runtime.h>

enum cv_clock_use {
    CV_CLOCKED = 1,     /* the algorithm uses Lamport's clock in any way */
    CV_CLOCKS_REQUESTS, /* times only order requests, and a time is compared with that of the node's own request */
    CV_CLOCKS_ORDER     /* times only order requests */
};

/*
 * Some numbers grow for ever, and only their order within a family matters: how often a token was passed on, which
 * attempt a vote is for. The checker counts the numbers of a family from the lowest on, so that states repeat. 0
 * stands for "never" and stays 0.
 */
struct cv_counting {
    void (*count)(struct cv_counting *counting, uint32_t family, uint64_t *number);
};

/*
 * Gives all nodes but the coordinator other names, for mutual exclusion that never compares ids. The checker also takes
 * every step under other names, and reports a result that is not the renamed one.
 */
struct cv_renaming {
    void (*node)(const struct cv_renaming *renaming, cv_node *node); /* a field that holds a node, or CV_NOBODY */
    void (*row)(const struct cv_renaming *renaming, cv_node *row);   /* such a field for each node of the group */
};

struct cv_hints {
    uint64_t answers;   /* a bit per kind of messages that answer a request of the receiver, once from each node */
    uint32_t clocked;   /* enum cv_clock_use; 0: the algorithm never asks for the Lamport clock */
    uint32_t alike;     /* nodes differ only in voting sets and in ids, and ids only decide between equal times */
    uint32_t perpetual; /* messages go round for ever: a run ends when no request is left */
    uint32_t preparing; /* messages of this kind and the later kinds prepare the run and are counted apart; 0: none */

    /* Shows the numbers that grow for ever, in a node's state or else in a message. */
    void (*counters)(struct cv_counting *counting, cv_node node, void *state, struct cv_message *message);

    /* Renames the nodes in a node's state, or else in the body of a message. */
    void (*rename)(const struct cv_renaming *renaming, const struct cv_group *group, cv_node node, void *state,
                   struct cv_message *message);
};

#endif
