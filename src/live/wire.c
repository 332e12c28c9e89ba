// SPDX-License-Identifier: MIT
#include "live/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/diary.h"
#include "live/security.h"
#include "live/tls.h"

#define MOST_AT_ONCE ((size_t)256 << 10)

static struct cv_wire *wire_of(struct cv_stream *stream)
{
    return (struct cv_wire *)(void *)stream;
}

/* ---- output ---- */

static bool make_room(struct cv_wire *wire, size_t bytes)
{
    if (wire->room - wire->used >= bytes)
        return true;
    size_t room = wire->room ? wire->room : 4096;
    while (room - wire->used < bytes)
        room *= 2;
    unsigned char *out = realloc(wire->out, room);
    if (!out)
        return false;
    wire->out = out;
    wire->room = room;
    return true;
}

void cv_wire_say(struct cv_wire *wire, const struct cv_frame *frame)
{
    const size_t size = cv_frame_size(frame);
    if (wire->stream.closing || wire->used > MOST_AT_ONCE || !make_room(wire, size))
        return; /* a heartbeat more or less */
    cv_frame_write(wire->out + wire->used, frame);
    wire->used += size;
    cv_stream_mark(&wire->stream);
}

static void flush(struct cv_stream *stream)
{
    struct cv_wire *wire = wire_of(stream);
    struct cv_peer *peer = wire->peer;
    if (stream->writing)
        return;
    struct cv_text more = {NULL, 0};
    if (peer && peer->greeted && peer->wire == wire)
        more = cv_link_unsent(&peer->link, MOST_AT_ONCE);
    if (more.length && make_room(wire, more.length)) {
        memcpy(wire->out + wire->used, more.start, more.length);
        wire->used += more.length;
        cv_link_sent(&peer->link, more.length);
        if (peer->link.sent < peer->link.end)
            cv_stream_mark(stream);
    }
    wire->peers->bytes_out += wire->used;
    if (wire->used && cv_stream_write(stream, wire->out, wire->used) == wire->used)
        wire->used = 0;
}

/* ---- input ---- */

static void refuse(struct cv_wire *wire, const char *why)
{
    char name[CV_VISITOR_NAME_BYTES];
    wire->peers->refused++;
    if (!wire->peer) /* whom this node has called is suspected by now */
        cv_note(CV_DIARY_PEER_REFUSED, {"from", .text = cv_visitor_name(&wire->visitor, name)}, {"why", .text = why});
    cv_stream_close(&wire->stream);
}

/* Whoever is refused is told why; it hangs up then, or is made to. */
static void object(struct cv_wire *wire, const struct cv_frame *hello, enum cv_refusal why)
{
    struct cv_peers *peers = wire->peers;
    const struct cv_frame answer = cv_peers_refusal(peers, hello->from, why);
    peers->refused += why != CV_REFUSAL_DISMISSED;
    cv_wire_say(wire, &answer);
    wire->objected = true;
    peers->calls.objected(peers->calls.context, hello, why);
}

static void meet(struct cv_wire *wire, const struct cv_frame *hello)
{
    struct cv_peers *peers = wire->peers;
    const bool dialled = wire->peer != NULL;
    struct cv_peer *peer = dialled ? wire->peer : cv_peers_find(peers, hello);
    const struct cv_roster *roster = peers->roster;
    if (peer && cv_peers_is_cut_off(peers, peer->node)) {
        refuse(wire, "it was cut off for what it said");
        return;
    }
    if (peer && wire->stream.tls && !cv_peer_is_host(peer, wire->stream.tls)) {
        refuse(wire, "not a member, or of another configuration");
        return;
    }
    if (hello->refusal && peer) {
        peers->calls.refused(peers->calls.context, hello, peer->wire == wire && peer->greeted);
        refuse(wire, "it refuses to speak with this node");
        return;
    }
    const enum cv_refusal objection = hello->refusal ? CV_REFUSAL_NONE : cv_peers_objection(peers, hello);
    if (objection) {
        object(wire, hello, objection);
        return;
    }
    if (!peer || (peer->wire == wire && peer->greeted) || hello->from != peer->id ||
        hello->to != roster->ids[roster->me]) {
        refuse(wire, "not a member, or of another configuration");
        return;
    }
    if (!dialled && cv_link_outdated(&peer->link, hello)) {
        cv_stream_close(&wire->stream); /* held up on its way, and given up since */
        return;
    }
    cv_alarm_cancel(&peers->loop->alarms, &wire->polite);
    if (cv_peer_renew(peer, hello) && dialled) {
        cv_stream_close(&wire->stream); /* it was greeted with the old one: connect again */
        return;
    }
    if (!dialled) {
        cv_door_leave(&wire->visitor);
        if (peer->wire) /* the old connection is dead, though nobody has told us */
            cv_wire_disown(peer->wire);
        wire->peer = peer;
        peer->wire = wire;
        const struct cv_frame answer = cv_peer_hello(peer);
        cv_wire_say(wire, &answer);
    } else if (peer->wire != wire) {
        cv_peer_move(peer, wire);
    }
    if (dialled)
        cv_peer_note_round_trip(peer, cv_loop_now() - wire->called_us);
    cv_peer_greeted(peer, hello);
}

static void received(struct cv_stream *stream)
{
    struct cv_wire *wire = wire_of(stream);
    size_t at = 0;
    while (!stream->closing && at < stream->in_used) {
        struct cv_frame frame;
        const char *wrong;
        const long size = cv_frame_read(stream->in + at, stream->in_used - at, &frame, &wrong);
        if (size == CV_FRAME_MORE)
            break;
        if (size == CV_FRAME_BROKEN) {
            refuse(wire, frame.type == CV_FRAME_HELLO ? wrong : "not what members say");
            return;
        }
        at += (size_t)size;
        if (wire->objected)
            continue; /* it hangs up when it has heard why */
        if (frame.type == CV_FRAME_HELLO)
            meet(wire, &frame);
        else if (!wire->peer || !wire->peer->greeted || wire->peer->wire != wire || !cv_peer_hear(wire->peer, &frame))
            refuse(wire, "out of order");
    }
    wire->peers->bytes_in += at;
    if (!stream->closing && at)
        cv_stream_take(stream, at);
}

/* ---- coming and going ---- */

static void impolite(struct cv_alarm *alarm)
{
    struct cv_wire *wire = cv_alarm_owner(alarm, struct cv_wire, polite);
    if (wire->peer && wire->peer->path_count > 1)
        cv_stream_close(&wire->stream); /* that way is cut, perhaps; the next one may not be */
    else
        refuse(wire, "no greeting in time");
}

static void connected(struct cv_stream *stream, int status)
{
    struct cv_wire *wire = wire_of(stream);
    if (status) {
        wire->refused = status == UV_ECONNREFUSED;
        cv_stream_close(stream);
        return;
    }
    const struct cv_frame hello = cv_peer_hello(wire->peer);
    wire->called_us = cv_loop_now();
    cv_wire_say(wire, &hello);
}

static void note_trouble(struct cv_wire *wire)
{
    struct cv_stream *stream = &wire->stream;
    const char *wrong = stream->tls ? cv_tls_wrong(stream->tls) : "";
    char name[CV_VISITOR_NAME_BYTES];
    if (*wrong && !wire->peer) {
        wire->peers->refused++;
        cv_note(CV_DIARY_PEER_REFUSED, {"from", .text = cv_visitor_name(&wire->visitor, name)}, {"why", .text = wrong});
    } else if (*wrong && strcmp(wire->peer->trouble, wrong) != 0) {
        cv_note(CV_DIARY_PEER_REFUSED, {"peer", .number = wire->peers->roster->ids[wire->peer->node]},
                {"why", .text = wrong});
        snprintf(wire->peer->trouble, sizeof wire->peer->trouble, "%s", wrong);
    }
}

static void closed(struct cv_stream *stream)
{
    struct cv_wire *wire = wire_of(stream);
    struct cv_peers *peers = wire->peers;
    note_trouble(wire);
    cv_alarm_cancel(&peers->loop->alarms, &wire->polite);
    cv_alarms_release(&peers->loop->alarms, 1);
    cv_door_leave(&wire->visitor);
    if (wire->peer && wire->peer->wire == wire)
        cv_peer_hung_up(wire->peer, wire->refused);
    else if (wire->peer && wire->peer->spare == wire)
        wire->peer->spare = NULL;
    free(wire->out);
    free(wire);
}

static const struct cv_stream_calls calls = {
    .received = received, .flush = flush, .closed = closed, .connected = connected};

struct cv_wire *cv_wire_new(struct cv_peers *peers)
{
    struct cv_wire *wire = calloc(1, sizeof *wire);
    if (!wire || cv_alarms_reserve(&peers->loop->alarms, 1)) {
        free(wire);
        return NULL;
    }
    wire->peers = peers;
    wire->polite.ring = impolite;
    wire->stream.to_member = true;
    wire->stream.calls = &calls;
    wire->stream.in_most = 4 * CV_FRAME_BYTES;
    cv_loop_set(peers->loop, &wire->polite, peers->security->settings->handshake_ms * 1000);
    return wire;
}

void cv_wire_disown(struct cv_wire *wire)
{
    wire->peer = NULL;
    cv_stream_close(&wire->stream);
}

void cv_wire_knock(struct cv_listener *listener)
{
    struct cv_peers *peers = listener->context;
    struct cv_wire *wire = cv_wire_new(peers);
    if (!wire)
        return;
    wire->at = peers->own[listener - peers->listeners];
    if (cv_stream_accept(&wire->stream, listener) == 0)
        cv_door_enter(&peers->door, &wire->visitor, &wire->stream);
}
