// SPDX-License-Identifier: MIT
/* Listeners, and addresses as text. */
#ifndef CONCLAVE_LIVE_NET_LISTEN_H
#define CONCLAVE_LIVE_NET_LISTEN_H

#include "live/net/loop.h"

struct cv_tls_context;

struct cv_listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct cv_loop *loop;
    /* A connection comes in: cv_stream_accept(). If there is no memory for it now, the call is repeated soon. */
    void (*incoming)(struct cv_listener *listener);
    void *context;
    bool waited_for;            /* a connection that came in has yet to be accepted, and no other comes in meanwhile */
    struct cv_alarm again;      /* then the call is repeated */
    struct cv_tls_context *tls; /* connections by TCP must speak TLS; NULL: they must not */
    bool plaintext;             /* without TLS, addresses off loopback are allowed as well */
    bool exposed;               /* this is such an address */
    unsigned mode;              /* of a Unix socket's file */
};

/* `address` is "host:port" or the path of a Unix socket. 0, or CV_EINPUT with a complaint that begins with `what`. What
 * the listener may do is set before. */
int cv_listen(struct cv_listener *listener, struct cv_loop *loop, const char *what, const char *address,
              struct cv_complaint *complaint);
/* No connection comes in any more. The loop's end does the same. */
void cv_listener_close(struct cv_listener *listener);
/* For cv_stream_accept() alone. */
int cv_listener_accept(struct cv_listener *listener, uv_stream_t *stream);

/* ---- addresses ---- */

/* 127.0.0.0/8 or ::1, which never leaves the machine. */
bool cv_address_is_loopback(const struct sockaddr_storage *address);
/* CV_EINPUT, and a complaint that says what to do about an address that is not loopback. */
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
