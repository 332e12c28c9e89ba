// SPDX-License-Identifier: MIT
/* One connection to another member, from its first greeting to its end. */
#ifndef CONCLAVE_LIVE_WIRE_H
#define CONCLAVE_LIVE_WIRE_H

#include "live/peers.h"

struct cv_wire {
    struct cv_stream stream; /* first */
    struct cv_peers *peers;
    struct cv_peer *peer;   /* NULL: it has not said who it is */
    struct cv_alarm polite; /* who connects says so within this time */
    struct cv_visitor visitor;
    unsigned char *out;
    size_t used, room;
    bool refused; /* nobody listens there */
};

/* NULL if there is no memory. */
struct cv_wire *cv_wire_new(struct cv_peers *peers);
void cv_wire_knock(struct cv_listener *listener);
/* An unnumbered frame goes out with the next flush. */
void cv_wire_say(struct cv_wire *wire, const struct cv_frame *frame);

/* ---- peers.c: what the wire tells ---- */

/* Is it of this group, or new and does not know yet which group it is? */
bool cv_peer_is_kin(const struct cv_peer *peer, const struct cv_frame *hello);
/* A greeting that tells a stranger that it is one. */
bool cv_peers_is_dismissal(const struct cv_peers *peers, const struct cv_frame *hello);
struct cv_frame cv_peers_dismissal(const struct cv_peers *peers);
bool cv_peers_dismisses(const struct cv_peers *peers, const struct cv_frame *hello);
struct cv_peer *cv_peers_find(struct cv_peers *peers, const struct cv_frame *hello);
/* Begins a new stream if the peer has forgotten this one; was that necessary? */
bool cv_peer_renew(struct cv_peer *peer, const struct cv_frame *hello);
struct cv_frame cv_peer_hello(const struct cv_peer *peer);
void cv_peer_greeted(struct cv_peer *peer, const struct cv_frame *hello);
bool cv_peer_hear(struct cv_peer *peer, const struct cv_frame *frame);
void cv_peer_hung_up(struct cv_peer *peer, bool refused);

#endif
