// SPDX-License-Identifier: MIT
/*
 * What nodes have been seen to do: from which state, by what kind of event, into which state, sending to whom. Whatever
 * a node will do before it hears from certain others can be read off it; reduce.c asks that.
 */
#ifndef CONCLAVE_CHECK_HABIT_H
#define CONCLAVE_CHECK_HABIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/memo.h"

/* What makes a node do something: a message from that node (0..n-1), or one of these. */
enum habit_cause { HABIT_TIMER = 30, HABIT_ALWAYS = 31 };

/*
 * Instead of the type of an event: the node was made another without one, or by a message that was preferred to all
 * that might have come before it. What is seen later could have happened here already.
 */
#define HABIT_SKIP UINT8_MAX

struct habit {
    const struct habit *next; /* another one from the same state */
    uint32_t after;           /* the node's state then */
    uint32_t argument, alive; /* of the event, as stepper_step() takes them */
    uint16_t receivers;       /* a bit for each node it sends to */
    uint8_t cause;
    uint8_t type; /* enum cv_decision_type, or HABIT_SKIP */
};

struct habits {
    pthread_mutex_t lock;
    _Atomic(const struct habit *) **blocks; /* by the number of a place */
    struct habit_arena *arenas;
    size_t arena_used;
    _Atomic size_t bytes;
    _Atomic bool learnt; /* something new since this was last set to false */
};

/* 0 or CV_ENOMEM; free them in both cases. */
int habits_init(struct habits *habits);
void habits_free(struct habits *habits);

/* The first of what was seen of a node in that state, or NULL. */
const struct habit *habits_of(const struct habits *habits, uint32_t place);

/* Notes what was seen, if it is new. Any number of threads at the same time. 0 or CV_ENOMEM. */
int habits_add(struct habits *habits, uint32_t place, struct habit habit);

/* A thread's memory of the answers that follow. They do not change unless something new is learnt. */
struct foresight {
    const struct habits *habits;
    struct memo known;
};

/*
 * To whom may a node in that state send, as long as nothing but these causes (a bit for each) makes it do anything?
 * Nobody whom it was never seen to send to. Without memory: to everybody.
 */
uint32_t foresee(struct foresight *foresight, uint32_t place, uint32_t causes);

#endif
