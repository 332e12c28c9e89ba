// SPDX-License-Identifier: MIT
#include "live/net/path.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "live/net/connection.h"
#include "live/net/listen.h"
#include "live/net/security.h"
#include "live/net/stream.h"
#include "live/net/tls_stream.h"

#define MOST_DOUBLINGS 5u

bool peer_dials(const struct cv_peer *peer)
{
    const struct cv_roster *roster = peer->peers->roster;
    return roster->ids[roster->me] < peer->id && peer->path_count;
}

/* ---- names of hosts ---- */

/* A thread of libuv looks names up, so that the loop goes on. The peer may be gone by then. */
struct lookup {
    uv_getaddrinfo_t request;
    struct cv_peers *peers;
    cv_id id;
    char text[sizeof((struct cv_path *)0)->text];
};

static bool may_go_to(const struct cv_peers *peers, const struct sockaddr_storage *address)
{
    return peers->security->members || peers->security->settings->plaintext || cv_address_is_loopback(address);
}

static void take_address(struct cv_peer *peer, struct cv_path *path, const struct addrinfo *found)
{
    struct sockaddr_storage address = {0};
    path->looking = false;
    if (found)
        memcpy(&address, found->ai_addr, found->ai_addrlen);
    if (!found || !may_go_to(peer->peers, &address)) {
        snprintf(peer->trouble, sizeof peer->trouble, "%s: %s", cv_brief(path->text).text,
                 found ? "an address off loopback takes a key or certificates" : "no such host");
        return;
    }
    path->address = address;
    path->found = true;
    if (!peer->connection && peer_dials(peer))
        cv_loop_set(peer->peers->loop, &peer->redial, 0);
}

static void looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct lookup *lookup = request->data;
    struct cv_peers *peers = lookup->peers;
    peers->loop->lookups--;
    for (cv_node node = 0; peers->loop->running && peers->list && node < peers->roster->count; node++) {
        struct cv_peer *peer = peers->list[node];
        for (uint32_t i = 0; peer && peer->id == lookup->id && i < peer->path_count; i++)
            if (peer->paths[i].looking && strcmp(peer->paths[i].text, lookup->text) == 0)
                take_address(peer, &peer->paths[i], status ? NULL : found);
    }
    uv_freeaddrinfo(found);
    free(lookup);
}

static void find(struct cv_peer *peer, struct cv_path *path)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct cv_loop *loop = peer->peers->loop;
    struct lookup *lookup = path->looking || !loop->running ? NULL : calloc(1, sizeof *lookup);
    if (!lookup)
        return;
    lookup->request.data = lookup;
    lookup->peers = peer->peers;
    lookup->id = peer->id;
    memcpy(lookup->text, path->text, sizeof lookup->text);
    if (uv_getaddrinfo(&loop->uv, &lookup->request, looked_up, path->host, strrchr(path->text, ':') + 1, &hints)) {
        free(lookup);
        return;
    }
    path->looking = true;
    loop->lookups++;
}

/* ---- paths ---- */

static int add_path(struct cv_peer *peer, struct cv_text word, struct cv_complaint *complaint)
{
    struct cv_path *path = &peer->paths[peer->path_count];
    if (peer->path_count == CV_MOST_PATHS || word.length >= sizeof path->text)
        return cv_complain(complaint, "peer %.*s...: expected host:port, at most %u of them", 64, word.start,
                           CV_MOST_PATHS);
    memcpy(path->text, word.start, word.length);
    path->text[word.length] = '\0';
    path->looking = false;
    int error = cv_address_read(path->text, &path->address, &path->found, "peer", complaint);
    if (!error && !path->found && !peer->peers->loop->running) {
        error = cv_address_parse(path->text, &path->address, "peer", complaint);
        path->found = !error;
    }
    if (error)
        return error;
    if (path->found && !may_go_to(peer->peers, &path->address))
        return cv_address_exposed(path->text, "peer", complaint);
    cv_address_host(path->text, path->host);
    peer->path_count++;
    if (!path->found)
        find(peer, path);
    return 0;
}

int peer_find_paths(struct cv_peer *peer, const char *addresses, struct cv_complaint *complaint)
{
    struct cv_text rest = cv_text(addresses), word;
    int error = 0;
    if (peer->connection && peer->connection->at == peer->paths[peer->connection->path].text)
        peer->connection->at = ""; /* its address may be none of these */
    peer->last_at = NULL;
    peer_drop_spare(peer);
    peer->path_count = peer->path = peer->tried = peer->rounds = 0;
    while (!error && cv_text_take(&rest, ' ', &word))
        error = add_path(peer, word, complaint);
    if (error)
        peer->path_count = 0;
    return error;
}

/* A peer that listens at several addresses is dialled at one of them. */
static bool has_choice(const struct cv_peer *peer)
{
    return (peer_dials(peer) ? peer->path_count : peer->peers->listener_count) > 1;
}

bool peer_is_host(const struct cv_peer *peer, const struct cv_tls *tls)
{
    if (!peer->path_count) /* only the group's key can prove it */
        return cv_tls_is_host(tls, "");
    for (uint32_t i = 0; i < peer->path_count; i++)
        if (cv_tls_is_host(tls, peer->paths[i].host))
            return true;
    return false;
}

static void reconsider(struct cv_connection *connection)
{
    if (connection && connection->stream.tls && !cv_tls_still_good(connection->stream.tls))
        cv_stream_close(&connection->stream);
}

void cv_peers_reconsider(struct cv_peers *peers)
{
    for (uint32_t i = 0; peers->list && i < CV_MAX_MEMBERS; i++)
        if (peers->list[i]) {
            reconsider(peers->list[i]->spare);
            reconsider(peers->list[i]->connection);
        }
}

const char *cv_peer_at(const struct cv_peer *peer)
{
    return peer->greeted && has_choice(peer) ? peer->connection->at : "";
}

void peer_note_path(struct cv_peer *peer)
{
    peer->moves += peer->last_at && peer->last_at != peer->connection->at;
    peer->last_at = peer->connection->at;
    peer->rounds = 0;
}

/* ---- dialling ---- */

struct cv_connection *peer_connect(struct cv_peer *peer, uint32_t path)
{
    struct cv_peers *peers = peer->peers;
    struct cv_tls_context *tls = peers->security->members;
    struct cv_path *way = &peer->paths[path];
    if (!way->found) {
        find(peer, way);
        if (!peer->connection) /* another path may be known */
            peer_next_path(peer);
        return NULL;
    }
    struct cv_connection *connection = connection_new(peers);
    if (!connection)
        return NULL;
    connection->peer = peer;
    connection->path = path;
    connection->at = way->text;
    if (peer->path_count > 1) /* there are others to try; but if none will do, it may be the time that was too short */
        cv_loop_set(peers->loop, &connection->greeting_due, (peers->least_us / 2) << peer->rounds);
    if (cv_stream_connect(&connection->stream, peers->loop, (const struct sockaddr *)&way->address) == 0 && tls &&
        !stream_secure(&connection->stream, tls, way->host, false))
        cv_stream_close(&connection->stream);
    return connection;
}

bool peer_next_path(struct cv_peer *peer)
{
    peer->path = (peer->path + 1) % peer->path_count;
    peer->rounds += peer->path == 0 && peer->rounds < MOST_DOUBLINGS;
    return peer->path == 0;
}

void peer_move(struct cv_peer *peer, struct cv_connection *connection)
{
    struct cv_connection *old = peer->connection;
    peer->spare = NULL;
    peer->connection = connection;
    peer->path = connection->path;
    if (old)
        connection_disown(old);
}

void peer_drop_spare(struct cv_peer *peer)
{
    if (peer->spare)
        connection_disown(peer->spare);
    peer->spare = NULL;
}

/* ---- silence ---- */

/* How long a connection has to be silent until another path is tried. */
static uint64_t patience_us(const struct cv_peers *peers)
{
    return 5 * peers->heartbeat_us / 2;
}

static void fell_silent(struct cv_alarm *alarm)
{
    struct cv_peer *peer = cv_alarm_owner(alarm, struct cv_peer, silence);
    struct cv_peers *peers = peer->peers;
    if (!peer->greeted)
        return;
    if (cv_loop_now() > alarm->due + peers->heartbeat_us) { /* this node itself was late */
        cv_loop_set(peers->loop, alarm, patience_us(peers));
    } else if (!peer_dials(peer)) {
        struct cv_connection *connection = peer->connection;
        peer->connection = NULL;
        peer->greeted = false;
        connection_disown(connection);
    } else {
        peer->tried = (peer->tried + 1) % peer->path_count;
        if (!peer->spare)
            peer->spare = peer_connect(peer, peer->tried);
        cv_loop_set(peers->loop, alarm, patience_us(peers));
    }
}

void peer_listen_for(struct cv_peer *peer)
{
    const struct cv_peers *peers = peer->peers;
    peer->silence.ring = fell_silent;
    peer->tried = peer->path; /* after a silence the next path comes first */
    if (has_choice(peer))
        cv_alarm_set(&peers->loop->alarms, &peer->silence, peer->detector.last_us + patience_us(peers));
}

/* ---- listening ---- */

int peers_listen(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint)
{
    struct cv_text rest = cv_text(addresses), word;
    int error = 0;
    while (!error && cv_text_take(&rest, ' ', &word) && peers->listener_count < CV_MOST_PATHS) {
        struct cv_listener *listener = &peers->listeners[peers->listener_count];
        char *address = strndup(word.start, word.length);
        if (!address)
            return CV_ENOMEM;
        peers->own[peers->listener_count++] = address;
        cv_security_guard(peers->security, listener, true);
        listener->context = peers;
        listener->incoming = connection_incoming;
        error = cv_listen(listener, peers->loop, "peers", address, complaint);
    }
    return error;
}
