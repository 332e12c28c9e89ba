// SPDX-License-Identifier: MIT
/*
 * The node's loop, its clocks and its chores.
 *
 * Nothing keeps the loop for long. Each kind of work has a slice of time in every turn: alarms, writes, and chores.
 * Work that is not done by then waits for the next turn, and comes first there. A chore is work that is too long for
 * one turn; it does a part each time.
 */
#ifndef CONCLAVE_LIVE_NET_LOOP_H
#define CONCLAVE_LIVE_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <uv.h>

#include "core/alarm.h"
#include "core/error.h"
#include "core/wall_clock.h"

struct cv_stream;

#define CV_CIPHER_BYTES 65536u

#define CV_SLICE_US 500u /* of a turn, for each kind of work */

/* Zeroed, but for `run`, which does a part and is deferred again if that was not all. */
struct cv_chore {
    void (*run)(struct cv_chore *chore);
    struct cv_chore *next, *previous;
    bool deferred;
};

struct cv_stream_list {
    struct cv_stream *first, *last;
};

struct cv_loop {
    uv_loop_t uv;
    uv_prepare_t before; /* called before the loop waits */
    uv_check_t after;
    uv_work_t first_work; /* starts the threads */
    uv_timer_t timer;
    uv_signal_t signals[3];
    void (*hangup)(void *context); /* HUP has come; NULL: the process ends */
    void *hangup_context;
    uint64_t timer_due;
    struct cv_alarms alarms;               /* in microseconds of cv_loop_now() */
    struct cv_stream_list to_clients;      /* streams to clients that have something to write */
    struct cv_stream_list to_members;      /* streams to members that have something to write */
    struct cv_chore *chores, *last_chore;  /* for this turn or a later one */
    struct cv_stream *ended, **last_ended; /* streams that are closed a few at a time, by `next` */
    uv_idle_t closer;                      /* keeps the loop from waiting while there are ended streams */
    bool ending;                           /* the loop ends: all streams are closed at once */
    bool open;
    bool running;
    uint32_t lookups;             /* of host names, on their way */
    bool measures;                /* the processor time of each turn is measured, by a system call */
    uint64_t turn_ns;             /* the processor time of this thread when the last turn ended */
    uint64_t longest_turn_us;     /* since INFO server was last asked for */
    char cipher[CV_CIPHER_BYTES]; /* bytes that were just read from a stream, to be deciphered */
};

int cv_loop_open(struct cv_loop *loop);
/*
 * Starts the threads that look up names and write files before clients rely on this process: libuv would abort if it
 * could not start them later. Without memory for them the process ends here, with a line.
 */
void cv_loop_start_threads(struct cv_loop *loop);
/* From now on INT and TERM end cv_loop_run(). */
void cv_loop_catch(struct cv_loop *loop);
/* Until one of them comes. */
void cv_loop_run(struct cv_loop *loop);
/* Does what can be done now, without waiting. */
void cv_loop_turn(struct cv_loop *loop);
/* Closes every stream and listener, too; their `closed` is called. The alarms stay for their other users. */
void cv_loop_close(struct cv_loop *loop);

/* Microseconds of a clock that never goes back; the same for all processes of a machine. */
static inline uint64_t cv_loop_now(void)
{
    return uv_hrtime() / 1000;
}

/* Milliseconds of the same clock when this turn of the loop began. It costs nothing. */
static inline uint64_t cv_loop_coarse_ms(const struct cv_loop *loop)
{
    return uv_now(&loop->uv);
}

/*
 * Microseconds of a clock that runs on while the machine sleeps, for leases; the same for all processes of a machine.
 */
static inline uint64_t cv_loop_boot(void)
{
    return cv_boot_us();
}

static inline void cv_loop_set(struct cv_loop *loop, struct cv_alarm *alarm, uint64_t delay_us)
{
    cv_alarm_set(&loop->alarms, alarm, cv_loop_now() + delay_us);
}

/* Has this turn taken long already? What can wait should wait. */
static inline bool cv_loop_is_late(const struct cv_loop *loop)
{
    return uv_hrtime() / 1000000 > uv_now(&loop->uv); /* it counts milliseconds, and waits a while for the first */
}

/* Runs the chore in this turn of the loop or in one of the next. */
void cv_loop_defer(struct cv_loop *loop, struct cv_chore *chore);
/* Takes the chore back, if it was deferred. */
void cv_loop_call_off(struct cv_loop *loop, struct cv_chore *chore);

#endif
