// SPDX-License-Identifier: MIT
/* Partial order reduction: which orders of events need not be tried. reducer.c says why. */
#ifndef CONCLAVE_CHECK_REDUCE_REDUCER_H
#define CONCLAVE_CHECK_REDUCE_REDUCER_H

#include "check/expand/expander.h"
#include "check/reduce/commute.h"
#include "check/reduce/possible_sends.h"

/* A thread's own. */
struct reducer {
    const struct model *model;
    struct possible_sends sends;
    struct commuting commuting;
};

/* 0 or CV_ENOMEM; free it in both cases. */
int reducer_init(struct reducer *reducer, struct model *model);
void reducer_free(struct reducer *reducer);

/* The bytes of all it remembers. */
uint64_t reducer_bytes(const struct reducer *reducer);

/* See memo_tidy(). */
void reducer_tidy(struct reducer *reducer);

/*
 * The next candidate for a persistent set of nodes in this state, smallest first; false after the last. `tried` begins
 * with 0; `alive` is as stepper_step() takes it.
 */
bool reducer_next_set(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t *tried, uint32_t *nodes);

/*
 * The next channel, after `slot`, whose first message alone is a persistent set; 0 after the last. `slot` begins with
 * 0. Channels come in the order of their nodes, not in the order in which they were first used. If the search delivers
 * the message, it calls reducer_note_message().
 */
uint32_t reducer_next_message(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t slot);

/* The search delivered the first message of this channel and left out all other events. */
void reducer_note_message(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t slot);

/* Must one of the successors happen, and is none visible? */
bool reducer_may_take(const struct expander *expander);

/* Does reduction pay? */
struct reduction_gain {
    bool on;           /* as far as is known, it does */
    bool used;         /* it was on at some time */
    uint64_t expanded; /* states at the last decision */
    uint64_t saved;    /* of those, states where events were left out */
};

/* Decides again, between two levels. */
void reduction_gain_update(struct reduction_gain *gain, uint64_t expanded, uint64_t saved);

#endif
