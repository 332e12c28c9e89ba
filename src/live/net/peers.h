// SPDX-License-Identifier: MIT
/*
 * The other members. Each has a connection, which the node with the lower id makes, and makes again when it breaks.
 * Numbered frames arrive once and in order. A peer whose heartbeats do not come is suspected.
 *
 * A peer on several networks has an address for each. When the path of a connection is cut, it moves on to the next
 * (path.c).
 *
 * A suspicion ends the stream of frames: those on their way are lost, and when the peer is back both begin a new one.
 */
#ifndef CONCLAVE_LIVE_NET_PEERS_H
#define CONCLAVE_LIVE_NET_PEERS_H

#include "core/detector.h"
#include "core/link/link.h"
#include "group/view.h"
#include "live/net/door.h"
#include "live/net/listen.h"
#include "live/net/objection.h"
#include "live/net/path.h"
#include "live/settings/settings.h"

struct cv_security;
struct cv_connection;

struct cv_peer {
    struct cv_peers *peers;
    struct cv_alarm deadline; /* silence until then is not suspicious */
    struct cv_alarm redial;
    struct cv_alarm silence;          /* another path is tried after that */
    struct cv_connection *connection; /* NULL: not connected */
    struct cv_connection *spare;      /* by another path, while nothing comes by the first; or NULL */
    struct cv_link link;
    struct cv_detector detector;
    struct cv_path paths[CV_MOST_PATHS];
    uint32_t path_count;
    uint32_t path;       /* the one in use */
    uint32_t tried;      /* the last that was tried instead */
    uint32_t rounds;     /* through all paths without success */
    uint64_t moves;      /* from one path to another */
    const char *last_at; /* the address of the last connection */
    char trouble[128];   /* why TLS with it failed the last time; empty if it did not */
    uint64_t redial_us;
    uint64_t cut_us;           /* for how long it was last cut off, for sending what no member sends */
    uint64_t cut_until_us;     /* it is cut off until then */
    uint64_t round_trip_us;    /* of greetings, heartbeats and their answers; 0: not known */
    uint64_t behind_us;        /* how late its last heartbeat came, by its own clock and ours */
    struct cv_peer *next;      /* of the peers that are gone for good, until they are freed */
    struct cv_peer_claim told; /* what it claimed in its last greeting */
    uint32_t process;          /* the process that greeted last; 0: none */
    uint32_t before;           /* the process before that; 0: none */
    uint32_t rival;            /* a process that wanted to take its place while it was connected */
    uint64_t rival_us;         /* since when that process does */
    uint32_t refusal;          /* why it has refused this node, as the operator was told */
    enum cv_refusal objection; /* why a node of its id was last refused, as the operator was told */
    uint64_t objected_us;      /* when that was */
    cv_id id;
    cv_node node;
    bool suspected;
    bool overdue; /* its deadline has passed; its unread frames are read first */
    bool greeted; /* the connection stands, and both ends have greeted */
};

struct cv_peers_calls {
    void (*changed)(void *context, cv_node node, bool gone);
    void (*renewed)(void *context, cv_node node); /* it is not suspected, but frames on their way were lost */
    void (*greeted)(void *context, cv_node node);
    void (*beat)(void *context, cv_node node, const struct cv_frame *beat);
    void (*beats)(void *context); /* this node itself is about to send its heartbeats */
    void (*frame)(void *context, cv_node node, const struct cv_frame *frame);
    /* A node refuses to speak with this one; had it accepted this node before? */
    void (*refused)(void *context, const struct cv_frame *hello, bool was_known);
    /* This node refuses one that claims to be a member. */
    void (*objected)(void *context, const struct cv_frame *hello, enum cv_refusal why);
    void *context;
};

struct cv_peers {
    struct cv_peers_calls calls;
    struct cv_loop *loop;
    const struct cv_roster *roster;
    struct cv_peer *
        *list; /* of CV_MAX_MEMBERS places; NULL: an empty place, or this node itself. No list: it is alone */
    struct cv_peer *retired;
    struct cv_listener listeners[CV_MOST_PATHS];
    char *own[CV_MOST_PATHS]; /* the addresses they listen at */
    uint32_t listener_count;
    struct cv_alarm beat;
    uint64_t heartbeat_us, least_us, most_us;
    struct cv_peer_claim self; /* what this node claims, but for the group, which is in the roster */
    uint64_t rules;            /* a fingerprint of this node's rules for locks and elections */
    uint64_t incarnation;      /* of this process: the upper half of the numbers of its streams */
    uint64_t streams;
    uint64_t term, epoch;         /* sent with every heartbeat */
    uint32_t lease_ms, drift_ppm; /* sent with every heartbeat: the terms that this node counts its lease by */
    uint64_t lonely_us;           /* since when no peer is connected */
    uint64_t hung_us;             /* the longest time of late that this node itself stood still */
    uint64_t hung_at;             /* when that ended */
    cv_set suspected;
    struct cv_security *security;
    struct cv_door door; /* for connections that have not proved who they are */
    uint64_t refused;    /* connections that were ended for what they sent */
    uint64_t cut_off;    /* how often a member was cut off */
    uint64_t bytes_in, bytes_out;
};

/* The zeroed peers' `calls`, `loop`, `roster`, `security` and times are set before. A peer is suspected until it is
 * heard from. */
int peers_open(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint);
void peers_free(struct cv_peers *peers);

/* The roster has changed: new members are dialled, members that left are disconnected. */
void peers_follow(struct cv_peers *peers);

/* Its addresses have changed. A connection that stands stays. */
void peers_move(struct cv_peers *peers, cv_node node);

/* Others have heard from these nodes: they are suspected here no longer, and have time to come. Returns those that
 * were suspected. */
cv_set peers_expect(struct cv_peers *peers, cv_set nodes);
/* Sends a numbered frame, unless the node is suspected. Returns a number for the record, 0 if it was not sent. */
uint64_t peers_send(struct cv_peers *peers, cv_node node, struct cv_frame *frame);
/* The same number, at the receiver of the frame. */
uint64_t peers_number(const struct cv_peers *peers, cv_node from, const struct cv_frame *frame);
/* Sends a frame that is not numbered, and may be lost. */
void peers_say(struct cv_peers *peers, cv_node node, const struct cv_frame *frame);
/* An answer took so long. A node that is late makes a round trip longer, and nothing makes it shorter: a shorter one
 * counts at once, and a longer one only little by little. */
static inline void peer_note_round_trip(struct cv_peer *peer, uint64_t us)
{
    const uint64_t known = peer->round_trip_us;
    peer->round_trip_us = !known || us < known ? us : known + (us - known) / 64;
}

/*
 * That member sends what no member sends. Its connection ends, it is suspected as soon as this step is over, and it is
 * cut off for a while: the longer, the more often it does that.
 */
void cv_peers_cut_off(struct cv_peers *peers, cv_node node, const char *why);
bool peers_is_cut_off(const struct cv_peers *peers, cv_node node);
/* Sends the heartbeat now. */
void peers_beat(struct cv_peers *peers);

struct cv_peer *peers_of(const struct cv_peers *peers, cv_id id);
struct cv_peer *peers_find(struct cv_peers *peers, const struct cv_frame *hello);
/* Begins a new stream if the peer has forgotten this one. Was that necessary? */
bool peer_renew(struct cv_peer *peer, const struct cv_frame *hello);
struct cv_frame peer_hello(const struct cv_peer *peer);
void cv_peer_greeted(struct cv_peer *peer, const struct cv_frame *hello);
bool peer_hear(struct cv_peer *peer, const struct cv_frame *frame);
void peer_hung_up(struct cv_peer *peer, bool refused);

#endif
