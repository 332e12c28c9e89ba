// SPDX-License-Identifier: MIT
/*
 * What nodes have been seen to do: from which state, by what kind of event, into which state, sending to whom. Whatever
 * a node will do before it hears from certain others can be read off it; reduce.c asks that.
 */
#ifndef CONCLAVE_CHECK_STATE_OBSERVED_H
#define CONCLAVE_CHECK_STATE_OBSERVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/state/memo.h"

/* What makes a node do something: a message from that node (0..n-1), or one of these. */
enum observed_cause { OBSERVED_TIMER = 30, OBSERVED_ALWAYS = 31 };

/*
 * Instead of the type of an event: the node was made another without one, or by a message that was preferred to all
 * that might have come before it. What is seen later could have happened here already.
 */
#define OBSERVED_SKIP UINT8_MAX

struct observed {
    const struct observed *next; /* another one from the same state */
    uint32_t after;              /* the node's state then */
    uint32_t argument, alive;    /* of the event, as stepper_step() takes them */
    uint16_t receivers;          /* a bit for each node it sends to */
    uint8_t cause;
    uint8_t type; /* enum cv_decision_type, or HABIT_SKIP */
};

struct observations {
    pthread_mutex_t lock;
    _Atomic(const struct observed *) **blocks; /* by the number of a place */
    struct observed_arena *arenas;
    size_t arena_used;
    _Atomic size_t bytes;
    _Atomic bool learnt; /* something new since this was last set to false */
};

/* 0 or CV_ENOMEM; free them in both cases. */
int observed_init(struct observations *observations);
void observed_free(struct observations *observations);

/* The first of what was seen of a node in that state, or NULL. */
const struct observed *observed_of(const struct observations *observations, uint32_t node_state);

/* Notes what was seen, if it is new. Any number of threads at the same time. 0 or CV_ENOMEM. */
int observed_add(struct observations *observations, uint32_t node_state, struct observed observed);

/* A thread's memory of the answers that follow. They do not change unless something new is learnt. */
struct foresight {
    const struct observations *observations;
    struct memo known;
};

/*
 * To whom may a node in that state send, as long as nothing but these causes (a bit for each) makes it do anything?
 * Nobody whom it was never seen to send to. Without memory: to everybody.
 */
uint32_t foresee(struct foresight *foresight, uint32_t node_state, uint32_t causes);

#endif
