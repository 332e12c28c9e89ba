// SPDX-License-Identifier: MIT
/*
 * How the workers of a shared run talk: in batches, by memory within a process and by MPI between ranks. Batches from
 * one worker to another come in the order in which they were sent.
 */
#ifndef CONCLAVE_SIM_SHARE_BATCHES_H
#define CONCLAVE_SIM_SHARE_BATCHES_H

#include <semaphore.h>
#include <stdatomic.h>

#include "core/apart.h"
#include "core/lane.h"
#include "ranks/ranks.h"

enum batch_type {
    BATCH_MAIL,   /* messages, and a promise of when the next can come */
    BATCH_REPORT, /* to the first worker: does the sender wait, for when, and what has it sent and taken? */
    BATCH_PROBE,  /* from the first worker: report again */
    BATCH_LEAP,   /* from the first worker: all wait, so it is quiet until then */
    BATCH_STOP    /* the run is over, or must be given up */
};

enum stop {
    STOP_NOT,         /* the run goes on */
    STOP_QUIET,       /* no worker has anything left to do before the pause */
    STOP_INTERRUPTED, /* the user wants that */
    STOP_EARLY,       /* a promise was wrong: once more, with smaller ones */
    STOP_DOUBTFUL,    /* once more, by one worker */
    STOP_NO_MEMORY,
    STOP_NO_THREADS
};

/* A batch is this, messages (after struct elsewhere_due), and pulses (struct elsewhere_pulse). */
struct batch {
    struct batch *next;
    size_t room;    /* bytes of memory after this, from malloc(); 0: it is in a lane */
    uint64_t after; /* so many came by lane from the same thread before it */
    struct batch_head {
        uint32_t from, to;     /* workers */
        uint32_t type;         /* enum batch_type */
        uint32_t stop;         /* BATCH_STOP: enum stop */
        uint64_t promise;      /* nothing arrives earlier, but for what follows from the receiver's own mail */
        uint64_t taken;        /* BATCH_MAIL: so many batches with content from the receiver are taken into account */
        uint64_t message_size; /* bytes */
        uint64_t pulse_size;
        uint64_t probe;          /* BATCH_PROBE, BATCH_REPORT: its number */
        uint64_t sent, received; /* BATCH_REPORT: batches with content, all in all */
        uint64_t next;           /* BATCH_REPORT: its next event */
        uint64_t waits;          /* BATCH_REPORT */
    } head;
    unsigned char bytes[];
};

struct inbox {
    _Alignas(CV_APART) _Atomic(struct batch *) last; /* the latest, which has a pointer to the one before */
    _Atomic bool asleep;                             /* the worker sleeps, or is about to */
    sem_t woken;
    /* Only for the worker itself: */
    _Alignas(CV_APART) struct lane_end *in, *out; /* by thread: what goes straight from thread to thread */
    struct batch *opened;                         /* batches that were in the inbox, the oldest first */
};

struct batches {
    struct cv_ranks *ranks;
    uint32_t threads;        /* workers of each rank */
    uint32_t workers;        /* of all ranks */
    struct inbox *inboxes;   /* by thread of this rank */
    struct lane *lanes;      /* by receiver and sender; NULL: there are none */
    _Atomic uint32_t locked; /* somebody talks to MPI */
    bool crowded;            /* there are more threads than processors */
    uint32_t over;           /* ranks that will send no more batches; under the lock */
};

int batches_init(struct batches *batches, struct cv_ranks *ranks, uint32_t threads);
void batches_free(struct batches *batches);

/* The first worker of this rank. */
uint32_t batches_first(const struct batches *batches);

/* NULL: no memory. */
struct batch *batch_new(size_t room);

/* The batch is gone for the caller; `*copied`: it was copied, and its memory is left. 0 or CV_ENOMEM. */
int batches_send(struct batches *batches, struct batch *batch, bool *copied);

/* The next batch that has come for a worker of this rank; or NULL. */
struct batch *batches_take(struct batches *batches, uint32_t worker, int *error);

/* The worker has done with that batch. True: its memory is left, and the caller's. */
bool batches_leave(struct batches *batches, uint32_t worker, const struct batch *batch);

/* For whoever receives blocks of ranks for another reason: takes this one if it is a batch. 0 or CV_ENOMEM. */
int batches_accept(struct batches *batches, const struct cv_block *block);

/* Lets others have the processor, longer each time. */
void batches_rest(uint32_t *rests);

/* The same for a worker. If there is no other rank, a batch that comes wakes it. */
void batches_wait(struct batches *batches, uint32_t worker, uint32_t *rests);

/* Waits until every rank has said that it is over, so that no batch of this run is left. 0 or CV_ENOMEM. */
int batches_drain(struct batches *batches);

#endif
