// SPDX-License-Identifier: MIT
/*
 * A member's part in `group raft`: its log, the views made of the log's entries, its lease. Heartbeats ask for
 * the lease, grants answer them; everything else goes with the peers' numbered frames.
 */
#ifndef CONCLAVE_LIVE_CONSENSUS_H
#define CONCLAVE_LIVE_CONSENSUS_H

#include "group/agreed_views.h"
#include "live/consensus_protocol.h"
#include "live/net/loop.h"
#include "live/roster.h"
#include "live/settings/settings.h"

struct cv_member;
struct cv_settings;
struct cv_frame;

struct consensus {
    struct cv_member *member;
    const struct consensus_protocol *protocol;
    void *state;  /* the protocol's; freed with this */
    bool is_open; /* the protocol is */
    struct cv_agreed_views agreed_views;
    struct cv_lease lease;
    struct cv_alarm tick;
    uv_prepare_t turn;   /* of the loop: it ends */
    bool passing;        /* time does, at this moment */
    struct cv_alarm end; /* of the lease, a margin before */
    uint64_t tick_us, margin_us;
    uint64_t wider_us;    /* the margin as it is once a lease of the new length is granted; 0: it is that already */
    uint64_t usable_us;   /* the lease ends then, less the margin; by cv_loop_boot() */
    bool leased;          /* as the service was told */
    bool without;         /* no lease, and not only for a moment: those who wait are told */
    uint64_t patience_us; /* until then it is only for a moment */
    bool gone;            /* it has left, and is granted nothing any more */
    cv_set ready;         /* peers that have begun */
    cv_set renewed;       /* peers that have lost something, and have yet to say whether they begin anew */
    cv_set torn;          /* members with whom something of this view was lost: the algorithms cannot go on in it */
    uint64_t refresh_us;  /* that is said again then */
    uint64_t leader, term;
    uint64_t lapses;            /* leases that ran out */
    uint64_t longest_us;        /* the longest lease that this node has asked for */
    struct cv_terms went_by;    /* the last that were agreed; all 0: none, as far as this process knows */
    struct cv_terms told_terms; /* the operator has been told that these count, and not the file's */
    char *directory;            /* what outlasts the process, or NULL */

    /* roster.c */
    const struct cv_settings *settings; /* as they were read last */
    bool founding;                      /* its directory belongs to no group, and it may found one (founding.c) */
    bool joining;                       /* it belongs to a group, and only the log can tell its place */
    cv_set founded;                     /* it has founded the group, with these */
    cv_set told_missing;                /* the operator knows that these are waited for */
    uint64_t tell_us;                   /* those who are missing are told then */
    char waits[160], refused[256];      /* why there is no group yet; why it may not belong to the one there is */
    bool seated;                        /* the roster is the log's */
    bool recalls;                       /* there was a log at the start */
    uint64_t recalled;                  /* up to this index the log is what it was at the start */
    uint64_t expelled;                  /* the generation of an entry on disk that does not know this node, and 1 */
    struct cv_addresses addresses[CV_MAX_MEMBERS];
    struct cv_change_request granted; /* the last that this node has proposed: where a newcomer is found */
    struct cv_change_request requests[CV_MAX_MEMBERS];
    uint32_t request_count;
    uint64_t ask_us; /* they are put forward again then */
};

/* NULL with 0: the settings want none. For `away_us` from now on the member must not begin. */
int consensus_open(struct consensus **consensus, struct cv_member *member, const struct cv_settings *settings,
                   uint64_t *away_us, struct cv_complaint *complaint);
void consensus_close(struct consensus *consensus); /* before the loop */
void consensus_free(struct consensus *consensus);  /* after it */

/* ---- what the member tells ---- */

/* Who is alive, who is elected, whether this node has begun. */
void consensus_update(struct consensus *consensus);
void consensus_renewed(struct consensus *consensus, cv_node node);
void consensus_gone(struct consensus *consensus, cv_node node);
void consensus_beat(struct consensus *consensus, cv_node from, const struct cv_frame *beat);
/* AGREEMENT, GRANT. */
void consensus_frame(struct consensus *consensus, cv_node from, const struct cv_frame *frame);

/* This node goes, in order, and nobody holds anything here: the others need not wait for its lease. */
void consensus_leave(struct consensus *consensus);
/* A peer has done so. */
void consensus_forget_peer(struct consensus *consensus, cv_node node);

/* ---- the lease ---- */

/* Does it last at this very moment? */
static inline bool consensus_leased(const struct consensus *consensus)
{
    return cv_loop_boot() < consensus->usable_us;
}

/* Looks at the clock: if the lease is over, whoever relies on it is told before anything else happens. */
void consensus_look(struct consensus *consensus);
/* That voter has granted what was asked for then, if this node was never left out since the view it is in. */
void consensus_renew(struct consensus *consensus, cv_node voter, uint64_t asked_us);
/* How long this node may surely go on granting, by its own clock; and how long clients may rely on it, by theirs. */
uint64_t consensus_left_us(const struct consensus *consensus);
int64_t consensus_left_ms(const struct consensus *consensus);

/* A new view with the same members, please. */
void consensus_refresh(struct consensus *consensus);
/* A view has begun. */
void consensus_began(struct consensus *consensus);
/* Has another coordinate; to CV_NOBODY: whoever is next. False if that cannot be asked of anybody now. */
bool consensus_step_down(struct consensus *consensus, cv_node to);

/* ---- names ---- */

/* The number by which a protocol knows a member, never 0; and the member of that number, or CV_NOBODY. */
uint64_t consensus_seat(const struct consensus *consensus, cv_node node);
cv_node consensus_node(const struct consensus *consensus, uint64_t seat);

#endif
