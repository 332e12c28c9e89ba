// SPDX-License-Identifier: MIT
/*
 * One worker of a shared run. It plays ticks as long as it knows all messages that arrive at its nodes (conservative
 * simulation, after Chandy, Misra and Bryant). With its messages it promises the others how long they will hear nothing
 * from it:
 *
 *   - A message that waits here, h links from the other worker's nodes, and is due at t, brings nothing there before t
 *     plus h times the least delay.
 *   - What other workers promise must cross this one's nodes first.
 *   - What follows from the receiver's own messages is not promised. The receiver knows when it sent them, and waits
 *     until this worker says that it has taken them into account.
 *
 * The last rule keeps two idle workers from promising each other one tick after the other. Three would still do that,
 * so the first worker then asks all. If they wait, and nothing is on its way, they leap to the first of their next
 * events (K. M. Chandy, J. Misra, 1981); the worker that has it may go on to the second, or until its own mail is
 * answered.
 */
#ifndef CONCLAVE_SIM_SHARE_WORKER_H
#define CONCLAVE_SIM_SHARE_WORKER_H

#include "core/apart.h"
#include "sim/share/batches.h"
#include "sim/share/split.h"
#include "sim/world.h"

static inline uint64_t share_earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* A time so many ticks later; CV_NEVER stays what it is. */
static inline uint64_t share_later(uint64_t time, uint64_t ticks)
{
    return time > CV_NEVER - ticks ? CV_NEVER : time + ticks;
}

/* A batch that the other worker has not taken into account, as far as this one knows. */
struct unheeded {
    uint64_t number;
    uint64_t back; /* its consequences can be here from this tick on */
};

/* Another worker that sends to this one, or gets messages from it. */
struct neighbour {
    uint32_t worker;
    bool sends;        /* it may send to this worker */
    bool hears;        /* this worker may send to it */
    uint64_t crossing; /* ticks from an arrival here from any other worker to one at this neighbour, at least */
    uint64_t promise;  /* its last one */
    uint64_t sent;     /* batches with content to it */
    uint64_t taken;    /* batches with content from it */
    uint64_t promised; /* what it was told last */
    uint64_t told;     /* how many taken it was told last */
    uint64_t owed;     /* it waits to hear what follows from its own mail when this tick begins here */
    struct unheeded *unheeded;
    size_t unheeded_first, unheeded_end, unheeded_room;
};

/* Messages that came before their place in the calendar was free. */
struct ahead {
    uint64_t due, number;
    unsigned char *rows; /* see sim/elsewhere.h */
    size_t bytes;
};

struct standing_report {
    uint64_t sent, received, probe;
    uint64_t next; /* its next event */
    bool waits;    /* it does not play before it hears more, or the pause is over */
};

struct share_worker {
    _Alignas(CV_APART) struct cv_sim *sim;
    struct elsewhere elsewhere;
    struct batches *batches;
    const struct split *split;
    uint32_t number;
    struct neighbour *neighbours;
    uint32_t neighbour_count;
    struct ahead *ahead; /* a heap, by time and number */
    size_t ahead_count, ahead_room;
    uint64_t ahead_number;
    uint64_t sent, taken; /* batches with content, all in all */
    struct standing_report reported;
    bool has_reported;
    uint64_t leap;                   /* nothing arrives earlier, but for answers to what it sends after a report */
    uint64_t answered;               /* these can come from this tick on */
    struct standing_report *reports; /* the first worker: by worker; */
    uint64_t probe;                  /* the number of the last question; */
    uint64_t probed;                 /* what all had received when it was asked; */
    uint32_t creeps;                 /* promises that came since it has played; */
    uint32_t patience;               /* with so many it asks */
    bool alone;                      /* the first worker: the system starts no threads for the others */
    enum stop stop;
    uint64_t waits;      /* how often it had to wait */
    double idle_seconds; /* how long, all in all */
};

int worker_init(struct share_worker *worker, struct cv_sim *world, const struct split *split, struct batches *batches,
                uint32_t number);
void worker_free(struct share_worker *worker);

/* For a run that goes on from a checkpoint: nothing is on its way from other workers, and messages are kept here. */
void worker_forget_promises(struct share_worker *worker);
void worker_keep(struct share_worker *worker, uint64_t due, const struct cv_message *message);

/* Plays until all workers are idle or `sim->pause` is reached, or the run must be given up: `stop`. */
void worker_run(struct share_worker *worker, bool begin);

/* For standing.h: when its next event is; may it play that; tells another worker something; ends the run for all. */
uint64_t worker_next_event(const struct share_worker *worker);
bool worker_may_play(const struct share_worker *worker, uint64_t next);
void worker_tell(struct share_worker *worker, struct batch_head head);
void worker_stop_all(struct share_worker *worker, enum stop stop);

/* Has it nothing left to do, whatever the pause? */
bool worker_is_done(const struct share_worker *worker);

#endif
