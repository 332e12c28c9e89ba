// SPDX-License-Identifier: MIT
/* One connection to another member, from its first greeting to its end. */
#ifndef CONCLAVE_LIVE_NET_CONNECTION_H
#define CONCLAVE_LIVE_NET_CONNECTION_H

#include "live/net/peers.h"
#include "live/net/stream.h"

struct cv_connection {
    struct cv_stream stream; /* first */
    struct cv_peers *peers;
    struct cv_peer *peer;         /* NULL: it has not said who it is */
    uint32_t path;                /* of the peer's, if it was dialled */
    const char *at;               /* the address that it was made to */
    struct cv_alarm greeting_due; /* who connects says so within this time */
    struct cv_visitor visitor;
    unsigned char *out;
    size_t used, room;
    bool refused;       /* nobody listens there */
    uint64_t called_us; /* when this node, having dialled, said its greeting */
    bool objected;      /* the other end was told that it is not spoken with, and why; nothing it says counts */
};

/* NULL if there is no memory. */
struct cv_connection *connection_new(struct cv_peers *peers);
void connection_incoming(struct cv_listener *listener);
/* Ends it, as nobody's any more: its peer is not told. */
void connection_disown(struct cv_connection *connection);
/* An unnumbered frame goes out with the next flush. */
void connection_say(struct cv_connection *connection, const struct cv_frame *frame);

#endif
