// SPDX-License-Identifier: MIT
/*
 * Those who have connected and not yet proved who they are. There is room for so many, and for so many of one address;
 * when it is full the one who has stood there longest has to go. Who has a key needs milliseconds, so even while
 * somebody opens connections as fast as possible the others get through.
 */
#ifndef CONCLAVE_LIVE_NET_DOOR_H
#define CONCLAVE_LIVE_NET_DOOR_H

#include "live/net/loop.h"

struct cv_visitor {
    struct cv_alarm alarm; /* it has had its time */
    struct cv_door *door;  /* NULL: not at the door */
    struct cv_stream *stream;
    struct cv_visitor *next, *previous; /* came later, came earlier */
    unsigned char address[16];          /* IPv6, or IPv4 mapped to it */
};

struct cv_door {
    struct cv_loop *loop;
    struct cv_visitor *first, *last;
    uint64_t count, most, most_each;
    uint64_t patience_us; /* 0: others see to that */
    uint64_t dropped;
};

/* The stream has been accepted. Somebody else's may be closed for it. The loop's alarms have room for its own. */
void cv_door_enter(struct cv_door *door, struct cv_visitor *visitor, struct cv_stream *stream);
/* Finds out where it comes from. */
void cv_door_look(struct cv_visitor *visitor, struct cv_stream *stream);
/* As text. */
#define CV_VISITOR_NAME_BYTES 46u
const char *cv_visitor_name(const struct cv_visitor *visitor, char text[CV_VISITOR_NAME_BYTES]);
/* It is known by now, or gone. Nothing happens if it is not at the door. */
void cv_door_leave(struct cv_visitor *visitor);

#endif
