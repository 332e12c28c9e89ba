// SPDX-License-Identifier: MIT
#include "live/net/peers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "live/net/connection.h"
#include "live/net/objection.h"
#include "live/net/path.h"
#include "live/net/security.h"
#include "live/net/stream.h"
#include "live/process/event_log.h"
#include "live/settings/settings_security.h"

#define FIRST_REDIAL_US 20000u
#define LONGEST_REDIAL_US 500000u
#define FIRST_CUT_US 5000000u
#define LONGEST_CUT_US 60000000u

static uint64_t new_stream(struct cv_peers *peers)
{
    return peers->incarnation << 32 | ++peers->streams;
}

static bool same_process(uint64_t one_stream, uint64_t other_stream)
{
    return one_stream >> 32 == other_stream >> 32;
}

/* ---- members that send nonsense ---- */

static bool is_cut_off(const struct cv_peer *peer)
{
    return peer->cut_until_us > cv_loop_now();
}

bool peers_is_cut_off(const struct cv_peers *peers, cv_node node)
{
    return peers->list && peers->list[node] && is_cut_off(peers->list[node]);
}

void cv_peers_cut_off(struct cv_peers *peers, cv_node node, const char *why)
{
    struct cv_peer *peer = peers->list ? peers->list[node] : NULL;
    if (!peer || is_cut_off(peer))
        return;
    peer->cut_us = !peer->cut_us                        ? FIRST_CUT_US
                   : peer->cut_us >= LONGEST_CUT_US / 2 ? LONGEST_CUT_US
                                                        : 2 * peer->cut_us;
    peer->cut_until_us = cv_loop_now() + peer->cut_us;
    peers->cut_off++;
    cv_log(CV_LOG_PEER_CUT_OFF, {"peer", .number = peer->id}, {"why", .text = why},
           {"for_ms", .number = peer->cut_us / 1000});
    snprintf(peer->trouble, sizeof peer->trouble, "cut off: %s", why);
    if (peer->connection)
        cv_stream_close(&peer->connection->stream);
    if (peer->spare)
        cv_stream_close(&peer->spare->stream);
    if (!peer->suspected)
        cv_alarm_set(&peers->loop->alarms, &peer->deadline, cv_loop_now());
}

/* ---- the failure detector ---- */

static void suspect(struct cv_peer *peer, const char *why)
{
    struct cv_peers *peers = peer->peers;
    if (peer->suspected)
        return;
    peer->suspected = true;
    peer->greeted = false;
    peers->suspected |= cv_set_of(peer->node);
    cv_log(CV_LOG_PEER_SUSPECTED, {"peer", .number = peers->roster->ids[peer->node]},
           {"unheard_ms", .number = (cv_loop_now() - peer->detector.last_us) / 1000},
           {"why", .text = *peer->trouble ? peer->trouble : why});
    cv_detector_suspect(&peer->detector, cv_loop_now());
    cv_alarm_cancel(&peers->loop->alarms, &peer->deadline);
    cv_link_begin(&peer->link, new_stream(peers));
    if (peer->connection)
        cv_stream_close(&peer->connection->stream);
    if (peer->spare)
        cv_stream_close(&peer->spare->stream);
    peers->calls.changed(peers->calls.context, peer->node, true);
}

static void watch(struct cv_peer *peer)
{
    peer->overdue = false;
    cv_alarm_set(&peer->peers->loop->alarms, &peer->deadline, cv_detector_deadline(&peer->detector));
    peer_listen_for(peer);
}

cv_set peers_expect(struct cv_peers *peers, cv_set nodes)
{
    cv_set expected = peers->list ? nodes & peers->suspected : 0;
    for (cv_node node = 0; expected && node < peers->roster->count; node++) {
        struct cv_peer *peer = peers->list[node];
        if (!cv_set_has(expected, node) || !peer)
            continue;
        if (is_cut_off(peer)) {
            expected &= ~cv_set_of(node);
            continue;
        }
        peer->suspected = false;
        cv_log(CV_LOG_PEER_TRUSTED, {"peer", .number = peers->roster->ids[node]}, {"why", .text = "view"});
        cv_detector_trust(&peer->detector, cv_loop_now(), false, 0);
        watch(peer);
    }
    peers->suspected &= ~expected;
    return expected;
}

/*
 * A node that wakes up late, having been stopped or starved, must not blame the others: they may have spoken meanwhile.
 * So it first reads what lies unread, which takes a turn of the loop.
 */
static void deadline_passed(struct cv_alarm *alarm)
{
    struct cv_peer *peer = cv_alarm_owner(alarm, struct cv_peer, deadline);
    const uint64_t now = cv_loop_now(), patience = peer->detector.least_us / 2;
    const bool late = now > alarm->due + patience;
    if (is_cut_off(peer) || (peer->overdue && !late)) {
        suspect(peer, "silence");
        return;
    }
    peer->overdue = !late;
    cv_alarm_set(&peer->peers->loop->alarms, alarm, now + (late ? patience : 1));
}

/* ---- standing still ---- */

/* A stop of the process, a machine without time for it, a turn of the loop that took too long. */
static void note_hang(struct cv_peers *peers, uint64_t due_us)
{
    const uint64_t now = cv_loop_now(), late = now > due_us ? now - due_us : 0;
    if (late > peers->heartbeat_us && (late >= peers->hung_us || now > peers->hung_at + peers->most_us)) {
        peers->hung_us = late;
        peers->hung_at = now;
    }
}

static uint64_t hung_us(struct cv_peers *peers)
{
    if (peers->beat.place)
        note_hang(peers, peers->beat.due); /* this node has just woken up, and its heartbeat is still to come */
    return cv_loop_now() <= peers->hung_at + peers->most_us ? peers->hung_us : 0;
}

static void send_beat(struct cv_peer *peer)
{
    const struct cv_peers *peers = peer->peers;
    const struct cv_frame beat = {.type = CV_FRAME_BEAT,
                                  .expects = peer->link.expects,
                                  .term = peers->term,
                                  .epoch = peers->epoch,
                                  .sent_at = cv_loop_boot(),
                                  .lease_ms = peers->lease_ms,
                                  .drift_ppm = peers->drift_ppm};
    if (peer->greeted)
        connection_say(peer->connection, &beat);
}

void peers_beat(struct cv_peers *peers)
{
    if (!peers->list)
        return; /* alone */
    cv_loop_set(peers->loop, &peers->beat, peers->heartbeat_us);
    peers->calls.beats(peers->calls.context);
    for (cv_node node = 0; node < peers->roster->count; node++)
        if (peers->list[node])
            send_beat(peers->list[node]);
}

/*
 * Members beat together: a node that hears another and would beat soon beats now, and its answer goes with that. So
 * each node wakes up less often, and beats no less often.
 */
static void beat_along(struct cv_peers *peers)
{
    if (peers->beat.place && peers->beat.due < cv_loop_now() + peers->heartbeat_us / 2)
        peers_beat(peers);
}

/* No function is using a retired peer now. */
static void free_retired(struct cv_peers *peers)
{
    for (struct cv_peer *peer; (peer = peers->retired);) {
        peers->retired = peer->next;
        cv_link_free(&peer->link);
        free(peer);
    }
}

static void dial(struct cv_peer *peer);

/*
 * A node that has long heard from nobody, and waits to be dialled, dials for once itself: a member that does not know
 * it any more tells it so.
 */
static void look_around(struct cv_peers *peers)
{
    const uint64_t now = cv_loop_now();
    for (cv_node node = 0; node < peers->roster->count; node++)
        if (peers->list[node] && peers->list[node]->greeted)
            peers->lonely_us = now;
    if (now < peers->lonely_us + peers->most_us)
        return;
    peers->lonely_us = now;
    for (cv_node node = 0; node < peers->roster->count; node++) {
        struct cv_peer *peer = peers->list[node];
        if (peer && !peer->connection && peer->path_count) {
            peer_next_path(peer);
            dial(peer);
        }
    }
}

static void time_to_beat(struct cv_alarm *alarm)
{
    struct cv_peers *peers = cv_alarm_owner(alarm, struct cv_peers, beat);
    note_hang(peers, alarm->due);
    free_retired(peers);
    look_around(peers);
    peers_beat(peers);
}

/* ---- connections ---- */

static void dial(struct cv_peer *peer)
{
    if (is_cut_off(peer)) {
        cv_alarm_set(&peer->peers->loop->alarms, &peer->redial, peer->cut_until_us);
        return;
    }
    peer->connection = peer_connect(peer, peer->path);
    if (!peer->connection)
        cv_loop_set(peer->peers->loop, &peer->redial, LONGEST_REDIAL_US);
}

static void time_to_dial(struct cv_alarm *alarm)
{
    struct cv_peer *peer = cv_alarm_owner(alarm, struct cv_peer, redial);
    if (!peer->connection)
        dial(peer);
}

struct cv_frame peer_hello(const struct cv_peer *peer)
{
    const struct cv_peer_claim *self = &peer->peers->self;
    const struct cv_roster *roster = peer->peers->roster;
    return (struct cv_frame){.type = CV_FRAME_HELLO,
                             .group = roster->group,
                             .from = roster->ids[roster->me],
                             .to = peer->id,
                             .stream = peer->link.stream,
                             .heard = peer->link.heard,
                             .expects = peer->link.expects,
                             .hung = hung_us(peer->peers),
                             .mode = roster->mode,
                             .founds = self->founds,
                             .directory = self->directory,
                             .starts = self->starts,
                             .members = self->members,
                             .stored = self->stored,
                             .rules = peer->peers->rules};
}

/* The connection is gone. A peer that refuses a new one is dead, or as good as dead. */
void peer_hung_up(struct cv_peer *peer, bool refused)
{
    struct cv_peers *peers = peer->peers;
    const bool was_greeted = peer->greeted;
    peer->connection = NULL;
    peer->greeted = false;
    if (peer->spare) { /* the other end may already use another path */
        peer_move(peer, peer->spare);
        return;
    }
    if (refused)
        suspect(peer, "refuses connections");
    if (peer_dials(peer)) {
        const bool more = !peer_next_path(peer);
        peer->redial_us = was_greeted || more                        ? 0
                          : peer->redial_us < FIRST_REDIAL_US        ? FIRST_REDIAL_US
                          : peer->redial_us >= LONGEST_REDIAL_US / 2 ? LONGEST_REDIAL_US
                                                                     : 2 * peer->redial_us;
        cv_loop_set(peers->loop, &peer->redial, peer->redial_us);
    } else if (!peer->suspected) {
        /* The other end has to connect again. If it can, it does so at once, perhaps by another path. */
        const uint64_t soon = cv_loop_now() + (peers->listener_count > 1 ? 4 : 2) * peers->heartbeat_us;
        if (soon < peer->deadline.due || !peer->deadline.place)
            cv_alarm_set(&peers->loop->alarms, &peer->deadline, soon);
    }
}

bool peer_renew(struct cv_peer *peer, const struct cv_frame *hello)
{
    const bool forgotten = cv_link_forgotten(&peer->link, hello);
    if (forgotten)
        cv_link_begin(&peer->link, new_stream(peer->peers));
    return forgotten;
}

static void note_stranger(struct cv_peer *peer, const struct cv_frame *hello)
{
    const uint32_t process = (uint32_t)(hello->stream >> 32);
    if (process != peer->process)
        peer->before = peer->process;
    peer->process = process;
    peer->objection = CV_REFUSAL_NONE;
    peer->refusal = CV_REFUSAL_NONE;
    peer->told = (struct cv_peer_claim){.group = hello->group,
                                        .members = hello->members,
                                        .stored = hello->stored,
                                        .directory = hello->directory,
                                        .starts = hello->starts,
                                        .founds = hello->founds};
}

void cv_peer_greeted(struct cv_peer *peer, const struct cv_frame *hello)
{
    struct cv_peers *peers = peer->peers;
    const uint64_t heard = peer->link.heard, now = cv_loop_now();
    const bool fresh = cv_link_greeted(&peer->link, hello), was_suspected = peer->suspected;
    peer->greeted = true;
    note_stranger(peer, hello);
    peer->redial_us = 0;
    peer_note_path(peer);
    *peer->trouble = '\0';
    cv_detector_trust(&peer->detector, now, was_suspected && heard && same_process(heard, hello->stream), hello->hung);
    peer->suspected = false;
    peers->suspected &= ~cv_set_of(peer->node);
    watch(peer);
    send_beat(peer);
    cv_stream_mark(&peer->connection->stream);
    if (was_suspected) {
        cv_log(CV_LOG_PEER_TRUSTED, {"peer", .number = peers->roster->ids[peer->node]});
        peers->calls.changed(peers->calls.context, peer->node, false);
    } else if (fresh && heard) {
        peers->calls.renewed(peers->calls.context, peer->node);
    }
    peers->calls.greeted(peers->calls.context, peer->node);
}

/* False if no member sends that. */
bool peer_hear(struct cv_peer *peer, const struct cv_frame *frame)
{
    struct cv_peers *peers = peer->peers;
    if (frame->type == CV_FRAME_BEAT) {
        const uint64_t now = cv_loop_boot();
        if (frame->epoch > CV_LAST_EPOCH) {
            cv_peers_cut_off(peers, peer->node, "a heartbeat of a view that cannot be");
            return true;
        }
        cv_detector_heard(&peer->detector, cv_loop_now());
        peer->behind_us = now > frame->sent_at ? now - frame->sent_at : 0;
        watch(peer);
        cv_link_acknowledged(&peer->link, frame->expects);
        peers->calls.beat(peers->calls.context, peer->node, frame);
        beat_along(peers);
        return true;
    }
    bool gap = false;
    if (frame->type == CV_FRAME_GRANT || cv_link_take(&peer->link, frame->sequence, &gap))
        peers->calls.frame(peers->calls.context, peer->node, frame);
    return !gap;
}

struct cv_peer *peers_of(const struct cv_peers *peers, cv_id id)
{
    for (cv_node node = 0; node < peers->roster->count; node++)
        if (peers->list[node] && peers->list[node]->id == id)
            return peers->list[node];
    return NULL;
}

struct cv_peer *peers_find(struct cv_peers *peers, const struct cv_frame *hello)
{
    const cv_id me = peers->roster->ids[peers->roster->me];
    return hello->to == me && hello->from < me ? peers_of(peers, hello->from) : NULL;
}

/* ---- nodes that do not belong here any more ---- */

/* It is told once. What was on its way is of no use to it. */
static void retire(struct cv_peer *peer)
{
    struct cv_peers *peers = peer->peers;
    struct cv_connection *connection = peer->connection;
    if (connection && peer->greeted) {
        const struct cv_frame dismissal = peers_refusal(peers, peer->id, CV_REFUSAL_REMOVED);
        connection_say(connection, &dismissal);
        cv_stream_flush(&connection->stream);
    }
    if (connection)
        connection_disown(connection);
    peer_drop_spare(peer);
    peer->connection = NULL;
    peer->greeted = false;
    cv_alarm_cancel(&peers->loop->alarms, &peer->deadline);
    cv_alarm_cancel(&peers->loop->alarms, &peer->silence);
    cv_alarm_cancel(&peers->loop->alarms, &peer->redial);
    peer->next = peers->retired;
    peers->retired = peer;
}

/* ---- sending ---- */

/* 6 bits of each end, 6 of the stream, 35 of the number: unique for a recording, and exact as a JSON number. */
static uint64_t number(cv_node from, cv_node to, uint64_t stream, uint64_t sequence)
{
    return ((uint64_t)from << 12 | (uint64_t)to << 6 | (stream & 63)) << 35 | (sequence & ((1ull << 35) - 1));
}

uint64_t peers_send(struct cv_peers *peers, cv_node node, struct cv_frame *frame)
{
    struct cv_peer *peer = peers->list ? peers->list[node] : NULL;
    if (!peer || peer->suspected)
        return 0;
    if (cv_link_write(&peer->link, frame)) {
        /* It has not listened for so long that no more can be kept for it. It is suspected once this step is over. */
        cv_alarm_set(&peers->loop->alarms, &peer->deadline, cv_loop_now());
        return 0;
    }
    if (peer->greeted)
        cv_stream_mark(&peer->connection->stream);
    return number(peers->roster->me, node, peer->link.stream, frame->sequence);
}

void peers_say(struct cv_peers *peers, cv_node node, const struct cv_frame *frame)
{
    const struct cv_peer *peer = peers->list ? peers->list[node] : NULL;
    if (peer && peer->greeted)
        connection_say(peer->connection, frame);
}

uint64_t peers_number(const struct cv_peers *peers, cv_node from, const struct cv_frame *frame)
{
    return number(from, peers->roster->me, peers->list[from]->link.heard, frame->sequence);
}

/* ---- opening ---- */

/* A peer without an address has to dial itself. */
static int open_peer(struct cv_peers *peers, cv_node node, struct cv_complaint *complaint)
{
    const char *addresses = peers->roster->addresses[node];
    struct cv_peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return CV_ENOMEM;
    peers->list[node] = peer;
    peer->peers = peers;
    peer->id = peers->roster->ids[node];
    peer->node = node;
    peer->suspected = true;
    peer->deadline.ring = deadline_passed;
    peer->redial.ring = time_to_dial;
    cv_link_begin(&peer->link, new_stream(peers));
    cv_detector_init(&peer->detector, peers->least_us, peers->most_us);
    const int error = addresses ? peer_find_paths(peer, addresses, complaint) : 0;
    if (peer_dials(peer))
        cv_loop_set(peers->loop, &peer->redial, 0);
    return error;
}

void peers_move(struct cv_peers *peers, cv_node node)
{
    struct cv_peer *peer = peers->list ? peers->list[node] : NULL;
    struct cv_complaint complaint;
    if (peer && peer_find_paths(peer, peers->roster->addresses[node], &complaint))
        cv_log_say(CV_LOG_ADDRESS, "member %u: %s", peer->id, complaint.text);
}

static void place_peers(struct cv_peers *peers)
{
    struct cv_peer *old[CV_MAX_MEMBERS];
    memcpy(old, peers->list, sizeof old);
    memset(peers->list, 0, sizeof old);
    for (uint32_t i = 0; i < CV_MAX_MEMBERS; i++) {
        cv_node node = 0;
        while (old[i] && node < peers->roster->count && peers->roster->ids[node] != old[i]->id)
            node++;
        if (old[i] && node < peers->roster->count) {
            old[i]->node = node;
            peers->list[node] = old[i];
        } else if (old[i]) {
            retire(old[i]);
        }
    }
}

void peers_follow(struct cv_peers *peers)
{
    const struct cv_roster *roster = peers->roster;
    struct cv_complaint complaint;
    if (!peers->list)
        return;
    place_peers(peers);
    peers->suspected = 0;
    for (cv_node node = 0; node < roster->count; node++) {
        if (node == roster->me)
            continue;
        if (!peers->list[node] && roster->ids[node] != CV_NO_ID && open_peer(peers, node, &complaint) == CV_EINPUT)
            cv_log_say(CV_LOG_ADDRESS, "member %u: %s", roster->ids[node], complaint.text);
        if (!peers->list[node] || peers->list[node]->suspected)
            peers->suspected |= cv_set_of(node);
    }
}

int peers_open(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint)
{
    const struct cv_roster *roster = peers->roster;
    uint32_t incarnation = 0;
    peers->list = calloc(CV_MAX_MEMBERS, sizeof(struct cv_peer *));
    if (!peers->list || cv_alarms_reserve(&peers->loop->alarms, 3 * (size_t)CV_MAX_MEMBERS + 1))
        return CV_ENOMEM;
    if (getrandom(&incarnation, sizeof incarnation, 0) != sizeof incarnation || !incarnation)
        incarnation = (uint32_t)cv_loop_now() | 1;
    peers->incarnation = incarnation;
    peers->suspected = cv_set_first(roster->count) & ~cv_set_of(roster->me);
    for (cv_node node = 0; node < roster->count; node++) {
        if (node == roster->me || roster->ids[node] == CV_NO_ID)
            continue;
        const int error = open_peer(peers, node, complaint);
        if (error)
            return error;
    }
    peers->lonely_us = cv_loop_now();
    peers->beat.ring = time_to_beat;
    cv_loop_set(peers->loop, &peers->beat, 0);
    const struct cv_security_settings *security = peers->security->settings;
    peers->door = (struct cv_door){
        .loop = peers->loop, .most = security->most_strangers, .most_each = security->most_strangers_each};
    return peers_listen(peers, addresses, complaint);
}

void peers_free(struct cv_peers *peers)
{
    free_retired(peers);
    for (cv_node node = 0; peers->list && node < CV_MAX_MEMBERS; node++)
        if (peers->list[node]) {
            cv_link_free(&peers->list[node]->link);
            free(peers->list[node]);
        }
    for (uint32_t i = 0; i < peers->listener_count; i++)
        free(peers->own[i]);
    free(peers->list);
}
