// SPDX-License-Identifier: MIT
/* One connection to another member, from its first greeting to its end. */
#ifndef CONCLAVE_LIVE_NET_CONNECTION_H
#define CONCLAVE_LIVE_NET_CONNECTION_H

#include "live/net/peers.h"
#include "live/net/stream.h"

struct cv_connection {
    struct cv_stream stream; /* first */
    struct cv_peers *peers;
    struct cv_peer *peer;         /* NULL: the other end has not said which member it is */
    uint32_t path;                /* which of the peer's paths, if this node dialled */
    const char *at;               /* the address that was dialled, of either end */
    struct cv_alarm greeting_due; /* the other end has to greet before that */
    struct cv_visitor visitor;
    unsigned char *out;
    size_t used, room;
    bool refused;       /* no process listens there */
    uint64_t called_us; /* when this node, having dialled, greeted */
    bool objected;      /* the other end was told why it is refused; nothing it says counts */
};

/* NULL if there is no memory. */
struct cv_connection *connection_new(struct cv_peers *peers);
void connection_incoming(struct cv_listener *listener);
/* Ends it without telling its peer. */
void connection_disown(struct cv_connection *connection);
/* An unnumbered frame goes out with the next flush. */
void connection_say(struct cv_connection *connection, const struct cv_frame *frame);

#endif
