// SPDX-License-Identifier: MIT
/*
 * Byte streams: TCP or Unix sockets, in plaintext or by TLS. What is written during a turn of the loop goes out at its
 * end, by one system call per stream.
 */
#ifndef CONCLAVE_LIVE_NET_STREAM_H
#define CONCLAVE_LIVE_NET_STREAM_H

#include "live/net/loop.h"

struct cv_listener;
struct cv_tls;

struct cv_stream_calls {
    void (*received)(struct cv_stream *stream); /* something new lies in `in` */
    void (*flush)(struct cv_stream *stream);    /* the turn ends: cv_stream_write() what is to go out */
    void (*closed)(struct cv_stream *stream);   /* it is gone, and may be freed */
    void (*connected)(struct cv_stream *stream, int status);
    /* TLS: the other end has proved who it is; false to refuse it. Nothing is received before. May be NULL. */
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

    char *in; /* bytes that have arrived and are not yet taken */
    size_t in_used, in_room, in_most;
    char *pending; /* bytes that the kernel did not take at once */
    size_t pending_room;
    bool writing; /* pending is on its way */
    bool reading;
    bool closing;
    bool marked;    /* in one of the loop's lists of what is to be written */
    bool to_member; /* in the list of streams to members, not to clients */
    struct cv_stream *next, *previous;

    struct cv_tls *tls; /* NULL: plaintext */
    bool dialled;
    bool established; /* TLS: the handshake is done */
    bool hungry;      /* TLS: deciphered bytes wait to be read */
};

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
/* The same past TLS; and room in `in` for more bytes: both for tls_stream.c. */
size_t cv_stream_write_plain(struct cv_stream *stream, const void *bytes, size_t length);
bool cv_stream_make_room(struct cv_stream *stream);
/* There is no room. If `in` is full, the stream pauses until its owner takes something. If there is no memory, nothing
 * would resume it, so it ends, and the other end can connect again. */
void cv_stream_overflows(struct cv_stream *stream);
/* The kernel keeps about so many bytes that the other end has yet to read, and no more. */
void cv_stream_limit_output(struct cv_stream *stream, uint32_t bytes);
/* The turn ends. */
void cv_stream_flush(struct cv_stream *stream);

/* The first bytes of `in` have been dealt with. */
void cv_stream_take(struct cv_stream *stream, size_t length);
/* Back-pressure: nothing more is read until it resumes. A stream whose `in` is full pauses itself. */
void cv_stream_pause(struct cv_stream *stream);
void cv_stream_resume(struct cv_stream *stream);

#endif
