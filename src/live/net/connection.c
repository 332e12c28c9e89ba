// SPDX-License-Identifier: MIT
#include "live/net/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/net/listen.h"
#include "live/net/objection.h"
#include "live/net/path.h"
#include "live/net/security.h"
#include "live/net/stream.h"
#include "live/net/tls_stream.h"
#include "live/process/event_log.h"

#define MOST_AT_ONCE ((size_t)256 << 10)

static struct cv_connection *connection_of(struct cv_stream *stream)
{
    return (struct cv_connection *)(void *)stream;
}

/* ---- output ---- */

static bool make_room(struct cv_connection *connection, size_t bytes)
{
    if (connection->room - connection->used >= bytes)
        return true;
    size_t room = connection->room ? connection->room : 4096;
    while (room - connection->used < bytes)
        room *= 2;
    unsigned char *out = realloc(connection->out, room);
    if (!out)
        return false;
    connection->out = out;
    connection->room = room;
    return true;
}

void connection_say(struct cv_connection *connection, const struct cv_frame *frame)
{
    const size_t size = cv_frame_size(frame);
    if (connection->stream.closing || connection->used > MOST_AT_ONCE || !make_room(connection, size))
        return; /* only heartbeats and answers are lost by that */
    cv_frame_write(connection->out + connection->used, frame);
    connection->used += size;
    cv_stream_mark(&connection->stream);
}

static void flush(struct cv_stream *stream)
{
    struct cv_connection *connection = connection_of(stream);
    struct cv_peer *peer = connection->peer;
    if (stream->writing)
        return;
    struct cv_text more = {NULL, 0};
    if (peer && peer->greeted && peer->connection == connection)
        more = cv_link_unsent(&peer->link, MOST_AT_ONCE);
    if (more.length && make_room(connection, more.length)) {
        memcpy(connection->out + connection->used, more.start, more.length);
        connection->used += more.length;
        cv_link_sent(&peer->link, more.length);
        if (peer->link.sent < peer->link.end)
            cv_stream_mark(stream);
    }
    connection->peers->bytes_out += connection->used;
    if (connection->used && cv_stream_write(stream, connection->out, connection->used) == connection->used)
        connection->used = 0;
}

/* ---- input ---- */

static void refuse(struct cv_connection *connection, const char *why)
{
    char name[CV_VISITOR_NAME_BYTES];
    connection->peers->refused++;
    if (!connection->peer) /* the peer that this node dialled is suspected by now */
        cv_log(CV_LOG_PEER_REFUSED, {"from", .text = cv_visitor_name(&connection->visitor, name)},
               {"why", .text = why});
    cv_stream_close(&connection->stream);
}

/* A node that is refused is told why. It hangs up then, or is made to. */
static void object(struct cv_connection *connection, const struct cv_frame *hello, enum cv_refusal why)
{
    struct cv_peers *peers = connection->peers;
    const struct cv_frame answer = peers_refusal(peers, hello->from, why);
    peers->refused += why != CV_REFUSAL_REMOVED;
    connection_say(connection, &answer);
    connection->objected = true;
    peers->calls.objected(peers->calls.context, hello, why);
}

/* Both sides learn of it: the one that has called gets a greeting, too, and says which version that has. */
static void refuse_version(struct cv_connection *connection, uint32_t version)
{
    const struct cv_peers *peers = connection->peers;
    struct cv_peer *peer = connection->peer;
    char why[sizeof peer->trouble];
    snprintf(why, sizeof why, "it speaks version %u of the protocol between members, expected %u: another release",
             version, CV_FRAME_VERSION);
    if (peer && strcmp(peer->trouble, why) != 0) {
        cv_log(CV_LOG_PEER_REFUSED, {"peer", .number = peers->roster->ids[peer->node]}, {"why", .text = why});
        snprintf(peer->trouble, sizeof peer->trouble, "%s", why);
    }
    if (peer) {
        cv_stream_close(&connection->stream);
        return;
    }
    char name[CV_VISITOR_NAME_BYTES];
    const struct cv_frame answer = peers_refusal(peers, 0, CV_REFUSAL_NONE);
    connection->peers->refused++;
    cv_log(CV_LOG_PEER_REFUSED, {"from", .text = cv_visitor_name(&connection->visitor, name)}, {"why", .text = why});
    connection_say(connection, &answer);
    connection->objected = true;
}

static void meet(struct cv_connection *connection, const struct cv_frame *hello)
{
    struct cv_peers *peers = connection->peers;
    const bool dialled = connection->peer != NULL;
    struct cv_peer *peer = dialled ? connection->peer : peers_find(peers, hello);
    const struct cv_roster *roster = peers->roster;
    if (peer && peers_is_cut_off(peers, peer->node)) {
        refuse(connection, "it was cut off for what it said");
        return;
    }
    if (peer && connection->stream.tls && !peer_is_host(peer, connection->stream.tls)) {
        refuse(connection, "not a member, or of another configuration");
        return;
    }
    if (hello->refusal && peer) {
        peers->calls.refused(peers->calls.context, hello, peer->connection == connection && peer->greeted);
        refuse(connection, "it refuses to speak with this node");
        return;
    }
    const enum cv_refusal objection = hello->refusal ? CV_REFUSAL_NONE : peers_objection(peers, hello);
    if (objection) {
        object(connection, hello, objection);
        return;
    }
    if (!peer || (peer->connection == connection && peer->greeted) || hello->from != peer->id ||
        hello->to != roster->ids[roster->me]) {
        refuse(connection, "not a member, or of another configuration");
        return;
    }
    if (!dialled && cv_link_outdated(&peer->link, hello)) {
        cv_stream_close(&connection->stream); /* it was held up on its way, and has been given up since */
        return;
    }
    cv_alarm_cancel(&peers->loop->alarms, &connection->greeting_due);
    if (peer_renew(peer, hello) && dialled) {
        cv_stream_close(&connection->stream); /* it was greeted with the old one: connect again */
        return;
    }
    if (!dialled) {
        cv_door_leave(&connection->visitor);
        if (peer->connection) /* the old connection is dead, though the kernel has not said so */
            connection_disown(peer->connection);
        connection->peer = peer;
        peer->connection = connection;
        const struct cv_frame answer = peer_hello(peer);
        connection_say(connection, &answer);
    } else if (peer->connection != connection) {
        peer_move(peer, connection);
    }
    if (dialled)
        peer_note_round_trip(peer, cv_loop_now() - connection->called_us);
    cv_peer_greeted(peer, hello);
}

static void received(struct cv_stream *stream)
{
    struct cv_connection *connection = connection_of(stream);
    size_t at = 0;
    if (connection->objected)
        at = stream->in_used; /* it hangs up when it has heard why */
    while (!stream->closing && at < stream->in_used && !connection->objected) {
        struct cv_frame frame;
        const char *wrong;
        const long size = cv_frame_read(stream->in + at, stream->in_used - at, &frame, &wrong);
        if (size == CV_FRAME_MORE)
            break;
        if (size == CV_FRAME_BROKEN && frame.version && !(connection->peer && connection->peer->greeted)) {
            refuse_version(connection, frame.version);
            at = stream->in_used;
            break;
        }
        if (size == CV_FRAME_BROKEN) {
            refuse(connection, frame.type == CV_FRAME_HELLO ? wrong : "not what members say");
            return;
        }
        at += (size_t)size;
        if (frame.type == CV_FRAME_HELLO)
            meet(connection, &frame);
        else if (!connection->peer || !connection->peer->greeted || connection->peer->connection != connection ||
                 !peer_hear(connection->peer, &frame))
            refuse(connection, "out of order");
    }
    connection->peers->bytes_in += at;
    if (!stream->closing && at)
        cv_stream_take(stream, at);
}

/* ---- coming and going ---- */

static void greeting_is_late(struct cv_alarm *alarm)
{
    struct cv_connection *connection = cv_alarm_owner(alarm, struct cv_connection, greeting_due);
    if (connection->peer && connection->peer->path_count > 1)
        cv_stream_close(&connection->stream); /* this path may be cut; the next one may not be */
    else
        refuse(connection, "no greeting in time");
}

static void connected(struct cv_stream *stream, int status)
{
    struct cv_connection *connection = connection_of(stream);
    if (status) {
        connection->refused = status == UV_ECONNREFUSED;
        cv_stream_close(stream);
        return;
    }
    const struct cv_frame hello = peer_hello(connection->peer);
    connection->called_us = cv_loop_now();
    connection_say(connection, &hello);
}

static void note_trouble(struct cv_connection *connection)
{
    struct cv_stream *stream = &connection->stream;
    const char *wrong = stream->tls ? cv_tls_wrong(stream->tls) : "";
    char name[CV_VISITOR_NAME_BYTES];
    if (*wrong && !connection->peer) {
        connection->peers->refused++;
        cv_log(CV_LOG_PEER_REFUSED, {"from", .text = cv_visitor_name(&connection->visitor, name)},
               {"why", .text = wrong});
    } else if (*wrong && strcmp(connection->peer->trouble, wrong) != 0) {
        cv_log(CV_LOG_PEER_REFUSED, {"peer", .number = connection->peers->roster->ids[connection->peer->node]},
               {"why", .text = wrong});
        snprintf(connection->peer->trouble, sizeof connection->peer->trouble, "%s", wrong);
    }
}

static void closed(struct cv_stream *stream)
{
    struct cv_connection *connection = connection_of(stream);
    struct cv_peers *peers = connection->peers;
    note_trouble(connection);
    cv_alarm_cancel(&peers->loop->alarms, &connection->greeting_due);
    cv_alarms_release(&peers->loop->alarms, 1);
    cv_door_leave(&connection->visitor);
    if (connection->peer && connection->peer->connection == connection)
        peer_hung_up(connection->peer, connection->refused);
    else if (connection->peer && connection->peer->spare == connection)
        connection->peer->spare = NULL;
    free(connection->out);
    free(connection);
}

static const struct cv_stream_calls calls = {
    .received = received, .flush = flush, .closed = closed, .connected = connected};

struct cv_connection *connection_new(struct cv_peers *peers)
{
    struct cv_connection *connection = calloc(1, sizeof *connection);
    if (!connection || cv_alarms_reserve(&peers->loop->alarms, 1)) {
        free(connection);
        return NULL;
    }
    connection->peers = peers;
    connection->greeting_due.ring = greeting_is_late;
    connection->stream.to_member = true;
    connection->stream.calls = &calls;
    connection->stream.in_most = 4 * CV_FRAME_BYTES;
    cv_loop_set(peers->loop, &connection->greeting_due, peers->security->settings->handshake_ms * 1000);
    return connection;
}

void connection_disown(struct cv_connection *connection)
{
    connection->peer = NULL;
    cv_stream_close(&connection->stream);
}

void connection_incoming(struct cv_listener *listener)
{
    struct cv_peers *peers = listener->context;
    struct cv_connection *connection = connection_new(peers);
    if (!connection)
        return;
    connection->at = peers->own[listener - peers->listeners];
    if (cv_stream_accept(&connection->stream, listener) == 0)
        cv_door_enter(&peers->door, &connection->visitor, &connection->stream);
}
