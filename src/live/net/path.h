// SPDX-License-Identifier: MIT
/*
 * The ways to a peer: one address for each network that both are on. A connection goes one way; when nothing has come
 * by it for a while, well before that is suspicious, whoever dials tries the next one, and what was not acknowledged is
 * said again there. The old connection ends when the new one stands, so a way that was only slow is not lost.
 *
 * Who does not dial ends a connection that has fallen silent. If the way back is not cut, the other learns it by that.
 */
#ifndef CONCLAVE_LIVE_NET_PATH_H
#define CONCLAVE_LIVE_NET_PATH_H

#include "core/error.h"
#include "live/net/listen.h"
#include "live/settings/settings.h"

struct cv_connection;
struct cv_peer;
struct cv_peers;
struct cv_tls;

#define CV_MOST_PATHS CV_MOST_ADDRESSES

struct cv_path {
    struct sockaddr_storage address;
    char text[CV_HOST_BYTES + 8];
    char host[CV_HOST_BYTES];
    bool found;   /* the address is known */
    bool looking; /* a name that is being looked up */
};

/* Certificates were read again: who has one that is good no longer is let go. */
void cv_peers_reconsider(struct cv_peers *peers);
/*
 * Where there are several: the address that the connection with it was made to, of whichever end; "" if there is none.
 */
const char *cv_peer_at(const struct cv_peer *peer);

/* Does this node dial, and not the peer? The one with the lower id does, if it knows an address. */
bool peer_dials(const struct cv_peer *peer);
/* Reads a list of addresses, in place of those known before; a connection that stands is not touched. */
int peer_find_paths(struct cv_peer *peer, const char *addresses, struct cv_complaint *complaint);
int peers_listen(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint);
/* Has the other end of a connection proved that it is at one of the peer's addresses? */
bool peer_is_host(const struct cv_peer *peer, const struct cv_tls *tls);
/* There is one address at least. NULL if there is no memory. */
struct cv_connection *peer_connect(struct cv_peer *peer, uint32_t path);
/* True if it is the first one's turn again. */
bool peer_next_path(struct cv_peer *peer);
/* The other end has answered by another way: the connection that is used from now on. */
void peer_move(struct cv_peer *peer, struct cv_connection *connection);
/* Another way is not tried any more. */
void peer_drop_spare(struct cv_peer *peer);
/* The connection stands: is it by another way than the last? */
void peer_note_path(struct cv_peer *peer);
/* Something has come; from now on silence counts. */
void peer_listen_for(struct cv_peer *peer);

#endif
