// SPDX-License-Identifier: MIT
/*
 * Connections that have not yet proved who they are. Their number is limited, and so is the number from one address.
 * When the door is full, the oldest has to go. A peer with a key needs only milliseconds to prove itself, so it gets
 * through even while an attacker opens connections as fast as possible.
 */
#ifndef CONCLAVE_LIVE_NET_DOOR_H
#define CONCLAVE_LIVE_NET_DOOR_H

#include "live/net/loop.h"

struct cv_listener;

struct cv_visitor {
    struct cv_alarm alarm; /* its time to prove itself is over */
    struct cv_door *door;  /* NULL: not at the door */
    struct cv_stream *stream;
    struct cv_visitor *next, *previous; /* the one that came later, the one that came earlier */
    unsigned char address[16];          /* IPv6, or IPv4 mapped to it */
};

struct cv_door {
    struct cv_loop *loop;
    struct cv_visitor *first, *last;
    uint64_t count, most, most_each;
    uint64_t patience_us; /* to prove itself; 0: the owner limits that */
    uint64_t dropped;
    void (*farewell)(struct cv_stream *stream); /* before one is closed that has to go; may be NULL */
};

/* The stream has been accepted. Another may be closed for it. The loop's alarms have room for one of its own. */
void cv_door_enter(struct cv_door *door, struct cv_visitor *visitor, struct cv_stream *stream);
/* Accepts a connection, which then waits at the door. False if there is no memory; then nothing has happened. */
bool cv_door_accept(struct cv_door *door, struct cv_listener *listener, struct cv_visitor *visitor,
                    struct cv_stream *stream);
/* Finds out the address that it comes from. */
void cv_door_look(struct cv_visitor *visitor, struct cv_stream *stream);
/* That address as text. */
#define CV_VISITOR_NAME_BYTES 46u
const char *cv_visitor_name(const struct cv_visitor *visitor, char text[CV_VISITOR_NAME_BYTES]);
/* It has proved itself, or is gone. Nothing happens if it is not at the door. */
void cv_door_leave(struct cv_visitor *visitor);

#endif
