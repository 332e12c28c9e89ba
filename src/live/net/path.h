// SPDX-License-Identifier: MIT
/*
 * The paths to a peer: one address for each network that both are on. A connection uses one path. When nothing has come
 * by it for a while, well before that is suspicious, the node that dials tries the next path, and sends there again
 * what was not acknowledged. The old connection ends when the new one stands, so a path that was only slow is not lost.
 *
 * The node that does not dial ends a connection that has fallen silent. The other notices that, unless the path back is
 * cut, too.
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
    bool looking; /* its name is being looked up */
};

/* Certificates were read again: a peer whose certificate is no longer good is disconnected. */
void cv_peers_reconsider(struct cv_peers *peers);
/* Of several paths: the address that the connection with the peer was made to, of either end; "" if there is none. */
const char *cv_peer_at(const struct cv_peer *peer);

/* Does this node dial, and not the peer? The one with the lower id does, if it knows an address. */
bool peer_dials(const struct cv_peer *peer);
/* Reads a list of addresses, in place of those known before; a connection that stands is not touched. */
int peer_find_paths(struct cv_peer *peer, const char *addresses, struct cv_complaint *complaint);
int peers_listen(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint);
/* Has the other end of a connection proved that it is at one of the peer's addresses? */
bool peer_is_host(const struct cv_peer *peer, const struct cv_tls *tls);
/* Dials; the peer has an address at least. NULL if there is no memory. */
struct cv_connection *peer_connect(struct cv_peer *peer, uint32_t path);
/* Goes on to the next path. True if that is the first one again. */
bool peer_next_path(struct cv_peer *peer);
/* The peer has answered by another path: that connection is used from now on. */
void peer_move(struct cv_peer *peer, struct cv_connection *connection);
/* No other path is tried any more. */
void peer_drop_spare(struct cv_peer *peer);
/* The connection stands: counts whether it uses another path than the last. */
void peer_note_path(struct cv_peer *peer);
/* Something has come; from now on silence counts. */
void peer_listen_for(struct cv_peer *peer);

#endif
