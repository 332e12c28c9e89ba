// SPDX-License-Identifier: MIT
/* The threads of one rank that compute the tasks of a sweep. */
#ifndef CONCLAVE_CLI_STUDY_SWEEP_TEAM_H
#define CONCLAVE_CLI_STUDY_SWEEP_TEAM_H

#include <pthread.h>

#include "cli/study/sweep.h"

/* The results of a few tasks, one after the other, each with its size before it. */
struct parcel {
    struct parcel *next;
    uint64_t first; /* task */
    uint32_t count; /* tasks */
    double seconds; /* that they took */
    struct sweep_bytes bytes;
};

void parcel_free(struct parcel *parcel);

struct team {
    const struct sweep *sweep;
    pthread_t *threads;
    uint32_t thread_count; /* started */
    uint64_t width;        /* threads of all ranks */
    bool leads;            /* the first rank's: deals tasks itself */

    /* Everything below is read and written under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t work; /* there are tasks, or no more is wanted */
    pthread_cond_t done; /* there is a result */
    uint64_t next;       /* the first rank: the next task that nobody has */
    size_t passed;       /* the first rank: ranges of known results before it */
    struct parcel *todo; /* other ranks: tasks without results */
    uint32_t todo_count;
    struct parcel *finished, *last_finished;
    uint32_t idle;  /* threads that wait for tasks */
    uint64_t tasks; /* whose time is known, ... */
    double seconds; /* ... and it */
    bool stopped;
    /* Beside the lock: read within tasks. */
    volatile sig_atomic_t halted;
};

/* 0, or CV_ENOMEM if there are no threads. Join and free it in any case. */
int team_start(struct team *team, const struct sweep *sweep, uint32_t threads, uint64_t width, bool leads);
/* Tells the threads to stop, even within a task. */
void team_stop(struct team *team);
/* Stops them, and waits for that. What they have finished can still be taken. */
void team_join(struct team *team);
void team_free(struct team *team);

/* The first rank: gives the next few tasks away. False: there are none. */
bool team_deal(struct team *team, uint64_t *first, uint32_t *count);
/* Another rank: adds tasks. False: no memory. */
bool team_add(struct team *team, uint64_t first, uint32_t count);
/* How many portions of tasks it needs now. */
uint32_t team_wanting(struct team *team);

/* Results that are ready; NULL: none. */
struct parcel *team_take_done(struct team *team);
/* Waits for one, but not for long. */
void team_wait_done(struct team *team, uint32_t most_ms);
/* Learns from results how long a task takes: short tasks are dealt in larger portions. */
void team_learn(struct team *team, const struct parcel *parcel);

#endif
