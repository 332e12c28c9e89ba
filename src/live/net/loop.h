// SPDX-License-Identifier: MIT
/*
 * The node's loop and its byte streams: TCP or Unix sockets, whatever is said over them. All that is written during one
 * turn of the loop goes out at its end, one system call per stream.
 *
 * Nobody keeps the loop for long. Each kind of work has a slice of time in every turn: what alarms do, what is written,
 * and chores. What is not done by then waits for the next turn, and those who were not served come first there. A
 * chore is a piece of work that is too long for one turn, and does a part of it each time.
 */
#ifndef CONCLAVE_LIVE_NET_LOOP_H
#define CONCLAVE_LIVE_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <uv.h>

#include "core/alarm.h"
#include "core/error.h"

struct cv_stream;
struct cv_tls;
struct cv_tls_context;

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
    uv_prepare_t before; /* waiting for something to happen */
    uv_check_t after;
    uv_work_t first_work; /* that starts the threads */
    uv_timer_t timer;
    uv_signal_t signals[3];
    void (*hangup)(void *context); /* HUP has come; NULL: the process ends */
    void *hangup_context;
    uint64_t timer_due;
    struct cv_alarms alarms;               /* in microseconds of cv_loop_now() */
    struct cv_stream_list answers;         /* streams to clients that have something to write */
    struct cv_stream_list letters;         /* streams to members alike */
    struct cv_chore *chores, *last_chore;  /* for this turn or a later one */
    struct cv_stream *ended, **last_ended; /* streams that are closed a few at a time, by `next` */
    uv_idle_t closer;                      /* does not let the loop wait while there are some */
    bool ending;                           /* then all are closed at once */
    bool open;
    bool running;
    uint32_t lookups;             /* of names, on their way */
    bool measures;                /* how much of the processor each turn takes: a system call for each */
    uint64_t turn_ns;             /* what this thread had taken when the last turn ended */
    uint64_t longest_turn_us;     /* since INFO server was asked */
    char cipher[CV_CIPHER_BYTES]; /* what has just been read of some stream, to be deciphered */
};

/* heap.c: libuv and OpenSSL get their memory from there from now on. Without it the process ends with this code. */
int cv_heap_begin(int code);
int cv_loop_open(struct cv_loop *loop);
/*
 * Starts the threads that look up names and write files, before anybody relies on this process: libuv would abort if it
 * could not start them later. Without memory for them the process ends here, with a line.
 */
void cv_loop_start_threads(struct cv_loop *loop);
/* From now on INT and TERM end cv_loop_run(). */
void cv_loop_catch(struct cv_loop *loop);
/* Until one of them comes. */
void cv_loop_run(struct cv_loop *loop);
/* Does what can be done now, without waiting. */
void cv_loop_turn(struct cv_loop *loop);
/* Closes every stream and listener, too; their `closed` is called. The alarms stay, for others who have some. */
void cv_loop_close(struct cv_loop *loop);

/* Microseconds of a clock that never goes back; the same for all processes of a machine. */
static inline uint64_t cv_loop_now(void)
{
    return uv_hrtime() / 1000;
}

/* Milliseconds of the same clock when this turn of the loop began: for what must cost nothing. */
static inline uint64_t cv_loop_coarse_ms(const struct cv_loop *loop)
{
    return uv_now(&loop->uv);
}

/*
 * Microseconds of a clock that runs on while the machine sleeps, for leases; the same for all processes of a machine.
 */
static inline uint64_t cv_loop_boot(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline void cv_loop_set(struct cv_loop *loop, struct cv_alarm *alarm, uint64_t delay_us)
{
    cv_alarm_set(&loop->alarms, alarm, cv_loop_now() + delay_us);
}

/* Has what came with this turn taken its time by now? What can wait should. */
static inline bool cv_loop_is_late(const struct cv_loop *loop)
{
    return uv_hrtime() / 1000000 > uv_now(&loop->uv); /* it counts milliseconds, and waits a while for the first */
}

/* Has it run in this turn of the loop or in one of the next. */
void cv_loop_defer(struct cv_loop *loop, struct cv_chore *chore);
/* It does not run, if it was to. */
void cv_loop_call_off(struct cv_loop *loop, struct cv_chore *chore);

/* ---- streams ---- */

struct cv_stream_calls {
    void (*received)(struct cv_stream *stream); /* something new lies in `in` */
    void (*flush)(struct cv_stream *stream);    /* the turn ends: cv_stream_write() what is to go out */
    void (*closed)(struct cv_stream *stream);   /* it is gone, and may be freed */
    void (*connected)(struct cv_stream *stream, int status);
    /* TLS: who connected has proved who it is; false to have none of it. Nothing is received before. May be NULL. */
    bool (*admitted)(struct cv_stream *stream);
};

/* Zeroed, but for what the owner sets before it opens it: `calls` and `in_most`. */
struct cv_stream {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    uv_connect_t connect;
    uv_write_t write;
    struct cv_loop *loop;
    const struct cv_stream_calls *calls;

    char *in; /* what has arrived and is not yet taken */
    size_t in_used, in_room, in_most;
    char *pending; /* what the kernel did not take at once */
    size_t pending_room;
    bool writing; /* pending is on its way */
    bool reading;
    bool closing;
    bool marked;    /* in one of the loop's lists of what is to be written */
    bool to_member; /* in which of them */
    struct cv_stream *next, *previous;

    struct cv_tls *tls; /* NULL: plaintext */
    bool dialled;
    bool established; /* TLS: the handshake is done */
    bool hungry;      /* TLS: what has been deciphered, or could be, waits to be read */
};

struct cv_listener;
int cv_stream_accept(struct cv_stream *stream, struct cv_listener *listener);
/* `connected` is called later, with 0 or a negative status. */
int cv_stream_connect(struct cv_stream *stream, struct cv_loop *loop, const struct sockaddr *address);
/* Nothing is heard of it any more but `closed`, in one of the next turns. */
void cv_stream_close(struct cv_stream *stream);
/* Closes the next few; all of them if the loop ends. */
void cv_stream_close_some(struct cv_loop *loop);

/* Asks for `flush` at the end of the turn, or of one of the next if there is too much to write. */
void cv_stream_mark(struct cv_stream *stream);
void cv_stream_unmark(struct cv_stream *stream);
/* How many of the bytes were taken: all, or none while earlier ones are still on their way; then `flush` is called
 * again once they are gone. */
size_t cv_stream_write(struct cv_stream *stream, const void *bytes, size_t length);

/* The same past TLS, and room in `in` for some more bytes: for those who put things together. */
size_t cv_stream_write_plain(struct cv_stream *stream, const void *bytes, size_t length);
bool cv_stream_make_room(struct cv_stream *stream);
/* There is no room: `in` is full of what nobody takes, and the stream pauses. Or there is no memory: nobody would let
 * it go on, so it ends, and whoever is there can come again. */
void cv_stream_overflows(struct cv_stream *stream);
/* The turn ends. */
void cv_stream_flush(struct cv_stream *stream);

/* The first bytes of `in` have been dealt with. */
void cv_stream_take(struct cv_stream *stream, size_t length);
/*
 * Back-pressure: nothing more is read until it goes on. A stream whose `in` is full of what nobody takes pauses itself.
 */
void cv_stream_pause(struct cv_stream *stream);
void cv_stream_resume(struct cv_stream *stream);

/* ---- listeners ---- */

struct cv_listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct cv_loop *loop;
    /* Somebody wants to connect: cv_stream_accept(). Whoever has no memory for it now is called again soon. */
    void (*knock)(struct cv_listener *listener);
    void *context;
    bool waited_for;            /* somebody knocks, and nobody is heard meanwhile */
    struct cv_alarm again;      /* then it is tried once more */
    struct cv_tls_context *tls; /* who connects by TCP must speak TLS; NULL: must not */
    bool plaintext;             /* without TLS, addresses off loopback are allowed as well */
    bool exposed;               /* and this is one */
    unsigned mode;              /* of a Unix socket's file */
};

/* `address` is "host:port" or the path of a Unix socket. 0, or CV_EINPUT with a complaint that begins with `what`. What
 * the listener may do is set before. */
int cv_listen(struct cv_listener *listener, struct cv_loop *loop, const char *what, const char *address,
              struct cv_complaint *complaint);
/* Nobody connects any more. The loop's end does the same. */
void cv_listener_close(struct cv_listener *listener);
/* For cv_stream_accept() alone. */
int cv_listener_accept(struct cv_listener *listener, uv_stream_t *stream);
/* 127.0.0.0/8 or ::1: what is sent there does not leave the machine. */
bool cv_address_is_loopback(const struct sockaddr_storage *address);
/* CV_EINPUT, with what to do about an address that is not. */
int cv_address_exposed(const char *address, const char *what, struct cv_complaint *complaint);
/* The part before the port, without brackets. False if there is none. */
#define CV_HOST_BYTES 256u
bool cv_address_host(const char *text, char host[CV_HOST_BYTES]);
/* "host:port"; an empty host is 127.0.0.1, * is any. A name is not looked up, so this never waits: `known` tells
 * whether it was an address. */
int cv_address_read(const char *text, struct sockaddr_storage *address, bool *known, const char *what,
                    struct cv_complaint *complaint);
/* The same, and a name is looked up, which may take seconds: not while the loop runs. */
int cv_address_parse(const char *text, struct sockaddr_storage *address, const char *what,
                     struct cv_complaint *complaint);

#endif
