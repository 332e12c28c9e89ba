// SPDX-License-Identifier: MIT
/*
 * What nodes were observed to do: in which state, after what kind of event, into which state, and to whom they sent.
 * The reduction predicts from it what a node can do before it hears from certain others: see reduce/possible_sends.h.
 */
#ifndef CONCLAVE_CHECK_STATE_OBSERVED_H
#define CONCLAVE_CHECK_STATE_OBSERVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The cause of a step: a message from node 0..n-1, or one of these. */
enum observed_cause { OBSERVED_TIMER = 30, OBSERVED_ALWAYS = 31 };

/*
 * Takes the place of an event type: the search delivered a message before all events that might have come first. What
 * the node is observed to do afterwards could have happened in this state already.
 */
#define OBSERVED_SKIP UINT8_MAX

struct observed {
    const struct observed *next; /* the next observation of the same state */
    uint32_t after;              /* the state after the step */
    uint32_t argument;           /* of the event, as stepper_step() takes it */
    uint32_t alive;              /* as stepper_step() takes it */
    uint16_t receivers;          /* a bit for each node that it sends to */
    uint8_t cause;               /* a node, or enum observed_cause */
    uint8_t type;                /* enum cv_decision_type, or OBSERVED_SKIP */
    uint32_t epoch;              /* it is known from the next one on */
};

/*
 * What a search observes is known to the next search: observed_publish() makes it so. So what the reduction leaves out
 * depends on the searches before, and on nothing else: not on the order in which states are expanded, nor by whom, nor
 * on whether the search was interrupted.
 */

struct observations {
    pthread_mutex_t lock;
    _Atomic(const struct observed *) **blocks; /* by the number of a node state */
    struct observed_arena *arenas;
    size_t arena_used; /* observations in the newest arena */
    _Atomic size_t bytes;
    _Atomic bool learnt; /* there is a new observation since this was last set to false */
    uint32_t epoch;      /* how often new ones became known; changes while no thread is at work */
    bool at_once;        /* depth first: new ones are known at once; the order of states matters there anyway */
};

/* 0 or CV_ENOMEM; free them in both cases. */
int observed_init(struct observations *observations);
void observed_free(struct observations *observations);

/* The first known observation of a node state, or NULL; the newest one first. */
const struct observed *observed_of(const struct observations *observations, uint32_t node_state);

/* The same, with those that are not known yet. */
const struct observed *observed_newest(const struct observations *observations, uint32_t node_state);

/* Adds an observation if it is new. Several threads may add at once. 0 or CV_ENOMEM. */
int observed_add(struct observations *observations, uint32_t node_state, struct observed observed);

/* Makes all observations known. No thread may be at work. */
void observed_publish(struct observations *observations);

#endif
