// SPDX-License-Identifier: MIT
/*
 * A member of a group that agrees on its views: the protocol by which it agrees, the views that entries make, and its
 * lease. Heartbeats ask for the lease, and grants answer them. Everything else travels in the peers' numbered frames.
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
    void *state;  /* the protocol's state, freed with this */
    bool is_open; /* the protocol is open */
    struct cv_agreed_views agreed_views;
    struct cv_lease lease;
    struct cv_alarm tick;
    uv_prepare_t turn;          /* runs at the end of each turn of the loop */
    bool passing;               /* consensus_pass_time() is running */
    struct cv_alarm end;        /* rings a margin before the end of the lease */
    uint64_t tick_us;           /* between two ticks while something is under way */
    uint64_t margin_us;         /* the node stops granting so long before its lease ends */
    uint64_t wider_us;          /* the margin once a lease of the new length is granted; 0: no new length */
    uint64_t usable_us;         /* the end of the lease less the margin, by cv_loop_boot() */
    uint64_t held_until_us;     /* the same by cv_loop_now(), which recordings go by */
    bool leased;                /* the service knows that there is a lease */
    bool without;               /* there has been no lease for a while, and waiting clients know */
    uint64_t patience_us;       /* a lost lease may come back until then, and clients wait */
    bool gone;                  /* this node has left, and gets no more grants */
    cv_set ready;               /* peers that have begun */
    cv_set renewed;             /* peers that lost frames, and have not said yet whether they restarted */
    cv_set torn;                /* members with which frames of this view were lost: algorithms need a new view */
    uint64_t refresh_us;        /* this node asks for no new view before then */
    uint64_t leader;            /* the seat of the node that proposes entries; 0: unknown */
    uint64_t term;              /* the leader's term; with a tie-breaker, the number of the last entry */
    uint64_t lapses;            /* number of leases that ran out */
    uint64_t longest_us;        /* the longest lease that this node has asked for */
    struct cv_terms went_by;    /* the terms that were agreed last; all 0: unknown to this process */
    struct cv_terms told_terms; /* the log has told the operator that these override the file's */
    char *directory;            /* for what outlasts the process, or NULL */

    /* roster.c */
    const struct cv_settings *settings;  /* as they were read last */
    bool founding;                       /* the directory has no group, and this node may found one (founding.c) */
    bool joining;                        /* this node belongs to a group, and only the log can tell its place */
    cv_set founded;                      /* the members with which this node has founded the group */
    cv_set told_missing;                 /* the missing members that the operator knows of */
    uint64_t tell_us;                    /* the operator is told then which members are missing */
    char waits[160];                     /* why there is no group yet */
    char refused[256];                   /* why this node may not belong to the existing group */
    bool seated;                         /* the roster comes from the log */
    bool recalls;                        /* there was an entry on disk at the start */
    uint64_t recalled;                   /* up to this index, entries of older rosters change nothing: the log was on
                                           disk up to there at the start, or a member has told of that entry */
    uint64_t welcomed;                   /* the epoch of the entry of which a member told last */
    uint64_t welcome_us[CV_MAX_MEMBERS]; /* this node next tells each of the others then */
    uint64_t expelled;                   /* 1 + the generation of an entry on disk that does not list this node */
    struct cv_addresses addresses[CV_MAX_MEMBERS];
    struct cv_change_request granted; /* the last request that this node has proposed, with a newcomer's addresses */
    struct cv_change_request requests[CV_MAX_MEMBERS];
    uint32_t request_count;
    uint64_t ask_us; /* this node repeats its requests then */
};

/* NULL with 0: the settings want none. The member must not begin for `away_us` from now on. */
int consensus_open(struct consensus **consensus, struct cv_member *member, const struct cv_settings *settings,
                   uint64_t *away_us, struct cv_complaint *complaint);
void consensus_close(struct consensus *consensus); /* before the loop */
void consensus_free(struct consensus *consensus);  /* after it */

/* ---- what the member tells ---- */

/* Peers came or went, another node was elected, or this node has begun. */
void consensus_update(struct consensus *consensus);
void consensus_renewed(struct consensus *consensus, cv_node node);
void consensus_gone(struct consensus *consensus, cv_node node);
void consensus_beat(struct consensus *consensus, cv_node from, const struct cv_frame *beat);
/* Takes in AGREEMENT and GRANT. */
void consensus_frame(struct consensus *consensus, cv_node from, const struct cv_frame *frame);

/* This node leaves in order, and no client holds anything here, so the others need not wait for its lease. */
void consensus_leave(struct consensus *consensus);
/* A peer has left in order. */
void consensus_forget_peer(struct consensus *consensus, cv_node node);

/* ---- the lease ---- */

/* Does the lease last at this very moment? */
static inline bool consensus_leased(const struct consensus *consensus)
{
    return cv_loop_boot() < consensus->usable_us;
}

/* Looks at the clock. If the lease is over, the service hears of it before anything else happens. */
void consensus_look(struct consensus *consensus);
/* That voter grants a lease from that time on, if no entry since this node's view left it out. */
void consensus_renew(struct consensus *consensus, cv_node voter, uint64_t asked_us);
/* The time left for this node to grant, by its own clock; and for clients to rely on it, by theirs. */
uint64_t consensus_left_us(const struct consensus *consensus);
int64_t consensus_left_ms(const struct consensus *consensus);

/* Asks for a new view with the same members. */
void consensus_refresh(struct consensus *consensus);
/* A view has begun. */
void consensus_began(struct consensus *consensus);
/* Makes another node coordinate; CV_NOBODY: the next best. False if no leader can be asked now. */
bool consensus_step_down(struct consensus *consensus, cv_node to);

/* ---- names ---- */

/* The number by which a protocol knows a member, never 0; and the member of that number, or CV_NOBODY. */
uint64_t consensus_seat(const struct consensus *consensus, cv_node node);
cv_node consensus_node(const struct consensus *consensus, uint64_t seat);

#endif
