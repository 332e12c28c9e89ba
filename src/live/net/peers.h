// SPDX-License-Identifier: MIT
/*
 * The other members: a connection to each, made by whoever comes first in the group's order and made again when it
 * breaks; numbered frames that arrive once and in order; heartbeats, and who is suspected for want of them.
 *
 * A peer on several networks has an address for each, and a connection moves on to the next when its own is cut
 * (path.c).
 *
 * A suspicion ends the stream: what was on its way is lost, and when the peer is back both begin a new one.
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
    struct cv_alarm silence;          /* another way is tried after that */
    struct cv_connection *connection; /* NULL: not connected */
    struct cv_connection *spare;      /* by another way, while nothing comes by the first; or NULL */
    struct cv_link link;
    struct cv_detector detector;
    struct cv_path paths[CV_MOST_PATHS];
    uint32_t path_count, path, tried; /* the one in use, the last that was tried instead */
    uint32_t rounds;                  /* of all of them without success */
    uint64_t moves;                   /* from one to another */
    const char *last_at;              /* where the last connection was made to */
    char trouble[128];                /* why TLS with it failed the last time; empty since it did not */
    uint64_t redial_us;
    uint64_t cut_us, cut_until_us; /* it has said what no member says: for how long it was cut off, and until when */
    uint64_t round_trip_us;        /* of greetings, heartbeats and their answers; 0: not known */
    uint64_t behind_us;            /* how late its last heartbeat came, by its own clock and ours */
    struct cv_peer *next;          /* of those who are gone for good, until they are freed */
    struct cv_peer_claim told;     /* what it said of itself when it was last greeted */
    uint32_t process, before;      /* which process that was, and which one before it; 0: none */
    uint32_t rival;                /* a process that wanted to take its place while it was connected, */
    uint64_t rival_us;             /* and since when */
    uint32_t refusal;              /* why it has refused this node, as it was told to the operator */
    enum cv_refusal objection;     /* why somebody of its id was last refused, as it was told to the operator */
    uint64_t objected_us;          /* and when */
    cv_id id;
    cv_node node;
    bool suspected;
    bool overdue; /* its deadline has passed; what lies unread in its connection is looked at first */
    bool greeted; /* the connection is made, and both have said who they are */
};

struct cv_peers_calls {
    void (*changed)(void *context, cv_node node, bool gone);
    void (*renewed)(void *context, cv_node node); /* not suspected, but some of what was on its way is lost */
    void (*greeted)(void *context, cv_node node);
    void (*beat)(void *context, cv_node node, const struct cv_frame *beat);
    void (*beats)(void *context); /* this node itself is about to send its heartbeats */
    void (*frame)(void *context, cv_node node, const struct cv_frame *frame);
    /* Somebody refuses to speak with this node; had it done so before? */
    void (*refused)(void *context, const struct cv_frame *hello, bool was_known);
    /* This node refuses to speak with somebody who says that it is a member. */
    void (*objected)(void *context, const struct cv_frame *hello, enum cv_refusal why);
    void *context;
};

struct cv_peers {
    struct cv_peers_calls calls;
    struct cv_loop *loop;
    const struct cv_roster *roster;
    struct cv_peer **list; /* of CV_MAX_MEMBERS; NULL where nobody is, and for this node itself. NULL: alone */
    struct cv_peer *retired;
    struct cv_listener listeners[CV_MOST_PATHS];
    char *own[CV_MOST_PATHS]; /* the addresses they listen at */
    uint32_t listener_count;
    struct cv_alarm beat;
    uint64_t heartbeat_us, least_us, most_us;
    struct cv_peer_claim self; /* what this node says of itself, but for the group, which is the roster's */
    uint64_t incarnation;      /* this process's: the upper half of its streams */
    uint64_t streams;
    uint64_t term, epoch;         /* told with every heartbeat */
    uint32_t lease_ms, drift_ppm; /* the same: what this node counts its lease by */
    uint64_t lonely_us;           /* since when nobody is connected */
    uint64_t hung_us;             /* the longest time of late that this node itself stood still, */
    uint64_t hung_at;             /* and when that ended */
    cv_set suspected;
    struct cv_security *security;
    struct cv_door door; /* for those who have not said who they are, and proved it */
    uint64_t refused;    /* connections ended for what they said */
    uint64_t cut_off;    /* so often a member was cut off */
    uint64_t bytes_in, bytes_out;
};

/* The zeroed peers' `calls`, `loop`, `roster`, `security` and times are set before. Everybody is suspected until heard
 * of. */
int peers_open(struct cv_peers *peers, const char *addresses, struct cv_complaint *complaint);
void peers_free(struct cv_peers *peers);

/* The roster has changed: whoever is new is met, whoever is not on it any more is let go. */
void peers_follow(struct cv_peers *peers);

/* Its addresses have changed; what is connected stays so. */
void peers_move(struct cv_peers *peers, cv_node node);

/* Others have met these nodes: whoever of them is suspected here is so no longer, and has the time to come. Returns who
 * was. */
cv_set peers_expect(struct cv_peers *peers, cv_set nodes);
/* Sends a numbered frame, unless the node is suspected. Returns a number for the record, 0 if it was not sent. */
uint64_t peers_send(struct cv_peers *peers, cv_node node, struct cv_frame *frame);
/* The same number, for whoever receives the frame. */
uint64_t peers_number(const struct cv_peers *peers, cv_node from, const struct cv_frame *frame);
/* Sends a frame that is not numbered, and may be lost. */
void peers_say(struct cv_peers *peers, cv_node node, const struct cv_frame *frame);
/* Something was answered after so long. A node that comes late makes it longer, and nothing shorter: the least counts,
 * and what is more only little by little. */
static inline void peer_note_round_trip(struct cv_peer *peer, uint64_t us)
{
    const uint64_t known = peer->round_trip_us;
    peer->round_trip_us = !known || us < known ? us : known + (us - known) / 64;
}

/*
 * That member says what no member says. Its connection ends, it is suspected as soon as this step is over, and it is
 * not spoken with for a while; the longer the more often it does that.
 */
void cv_peers_cut_off(struct cv_peers *peers, cv_node node, const char *why);
bool peers_is_cut_off(const struct cv_peers *peers, cv_node node);
/* Tells everybody at once what else goes with the next heartbeat. */
void peers_beat(struct cv_peers *peers);

struct cv_peer *peers_of(const struct cv_peers *peers, cv_id id);
struct cv_peer *peers_find(struct cv_peers *peers, const struct cv_frame *hello);
/* Begins a new stream if the peer has forgotten this one; was that necessary? */
bool peer_renew(struct cv_peer *peer, const struct cv_frame *hello);
struct cv_frame peer_hello(const struct cv_peer *peer);
void cv_peer_greeted(struct cv_peer *peer, const struct cv_frame *hello);
bool peer_hear(struct cv_peer *peer, const struct cv_frame *frame);
void peer_hung_up(struct cv_peer *peer, bool refused);

#endif
