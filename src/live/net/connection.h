// SPDX-License-Identifier: MIT
/* One connection to another member, from its first greeting to its end. */
#ifndef CONCLAVE_LIVE_NET_CONNECTION_H
#define CONCLAVE_LIVE_NET_CONNECTION_H

#include "live/net/peers.h"

struct cv_connection {
    struct cv_stream stream; /* first */
    struct cv_peers *peers;
    struct cv_peer *peer;   /* NULL: it has not said who it is */
    uint32_t path;          /* of the peer's, if it was dialled */
    const char *at;         /* the address that it was made to */
    struct cv_alarm polite; /* who connects says so within this time */
    struct cv_visitor visitor;
    unsigned char *out;
    size_t used, room;
    bool refused;       /* nobody listens there */
    uint64_t called_us; /* when this node, having dialled, said its greeting */
    bool objected;      /* the other end was told that it is not spoken with, and why; nothing it says counts */
};

/* NULL if there is no memory. */
struct cv_connection *cv_connection_new(struct cv_peers *peers);
void cv_connection_knock(struct cv_listener *listener);
/* Ends it, as nobody's any more: its peer is not told. */
void cv_connection_disown(struct cv_connection *connection);
/* An unnumbered frame goes out with the next flush. */
void cv_connection_say(struct cv_connection *connection, const struct cv_frame *frame);

/* ---- peers.c: what the connection tells ---- */

struct cv_peer *cv_peers_of(const struct cv_peers *peers, cv_id id);

struct cv_peer *cv_peers_find(struct cv_peers *peers, const struct cv_frame *hello);
/* Begins a new stream if the peer has forgotten this one; was that necessary? */
bool cv_peer_renew(struct cv_peer *peer, const struct cv_frame *hello);
struct cv_frame cv_peer_hello(const struct cv_peer *peer);
void cv_peer_greeted(struct cv_peer *peer, const struct cv_frame *hello);
bool cv_peer_hear(struct cv_peer *peer, const struct cv_frame *frame);
void cv_peer_hung_up(struct cv_peer *peer, bool refused);

/* ---- objection.c ---- */

/* Is there a reason not to speak with whoever greets? */
enum cv_refusal cv_peers_objection(const struct cv_peers *peers, const struct cv_frame *hello);
/* A greeting that says so, to that id. */
struct cv_frame cv_peers_refusal(const struct cv_peers *peers, cv_id to, enum cv_refusal why);
/* The reason in words. */
const char *cv_refusal_text(enum cv_refusal why);

/* ---- path.c ---- */

/* Whoever has the lower id connects, if it knows where to. */
static inline bool cv_peer_dials(const struct cv_peer *peer)
{
    const struct cv_roster *roster = peer->peers->roster;
    return roster->ids[roster->me] < peer->id && peer->path_count;
}

/* Reads a list of addresses, in place of those known before; a connection that stands is not touched. */
int cv_peer_find_paths(struct cv_peer *peer, const char *addresses, struct cv_complaint *complaint);
int cv_peers_listen(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint);
/* Has the other end of a connection proved that it is at one of the peer's addresses? */
bool cv_peer_is_host(const struct cv_peer *peer, const struct cv_tls *tls);
/* There is one address at least. NULL if there is no memory. */
struct cv_connection *cv_peer_connect(struct cv_peer *peer, uint32_t path);
/* True if it is the first one's turn again. */
bool cv_peer_next_path(struct cv_peer *peer);
/* The other end has answered by another way: the connection that is used from now on. */
void cv_peer_move(struct cv_peer *peer, struct cv_connection *connection);
/* Another way is not tried any more. */
void cv_peer_drop_spare(struct cv_peer *peer);
/* The connection stands: is it by another way than the last? */
void cv_peer_note_path(struct cv_peer *peer);
/* Something has come; from now on silence counts. */
void cv_peer_listen_for(struct cv_peer *peer);

#endif
