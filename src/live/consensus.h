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
#include "live/settings/settings.h"

struct cv_member;
struct cv_settings;
struct cv_frame;

struct cv_addresses {
    char peers[CV_ADDRESS_BYTES], clients[CV_ADDRESS_BYTES]; /* empty: not known */
};

/* A change of who belongs to the group, that this node has been asked for. */
struct cv_petition {
    struct cv_change change;
    struct cv_addresses addresses; /* of who joins */
    bool replaces;                 /* JOIN: whoever has that id, with this directory, leaves first */
    uint32_t directory;
    uint64_t until_us;
};

struct cv_consensus {
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
    struct cv_petition granted; /* the last that this node has proposed: where a newcomer is found */
    struct cv_petition petitions[CV_MAX_MEMBERS];
    uint32_t petition_count;
    uint64_t ask_us; /* they are put forward again then */
};

/* NULL with 0: the settings want none. For `away_us` from now on the member must not begin. */
int cv_consensus_open(struct cv_consensus **consensus, struct cv_member *member, const struct cv_settings *settings,
                      uint64_t *away_us, struct cv_complaint *complaint);
void cv_consensus_close(struct cv_consensus *consensus); /* before the loop */
void cv_consensus_free(struct cv_consensus *consensus);  /* after it */

/* ---- what the member tells ---- */

/* Who is alive, who is elected, whether this node has begun. */
void cv_consensus_update(struct cv_consensus *consensus);
void cv_consensus_renewed(struct cv_consensus *consensus, cv_node node);
void cv_consensus_gone(struct cv_consensus *consensus, cv_node node);
void cv_consensus_beat(struct cv_consensus *consensus, cv_node from, const struct cv_frame *beat);
/* AGREEMENT, GRANT. */
void cv_consensus_frame(struct cv_consensus *consensus, cv_node from, const struct cv_frame *frame);

/* This node goes, in order, and nobody holds anything here: the others need not wait for its lease. */
void cv_consensus_leave(struct cv_consensus *consensus);
/* A peer has done so. */
void cv_consensus_forget_peer(struct cv_consensus *consensus, cv_node node);

/* ---- raft_time.c ---- */

void cv_consensus_begin_time(struct cv_consensus *consensus);
/* Looks at all that depends on the clock; also with every heartbeat. */
void cv_consensus_pass_time(struct cv_consensus *consensus);

/* ---- the lease ---- */

/* Does it last at this very moment? */
static inline bool cv_consensus_leased(const struct cv_consensus *consensus)
{
    return cv_loop_boot() < consensus->usable_us;
}

/* Looks at the clock: if the lease is over, whoever relies on it is told before anything else happens. */
void cv_consensus_look(struct cv_consensus *consensus);
/* That voter has granted what was asked for then, if this node was never left out since the view it is in. */
void cv_consensus_renew(struct cv_consensus *consensus, cv_node voter, uint64_t asked_us);
/* How long this node may surely go on granting, by its own clock; and how long clients may rely on it, by theirs. */
uint64_t cv_consensus_left_us(const struct cv_consensus *consensus);
int64_t cv_consensus_left_ms(const struct cv_consensus *consensus);

/* A new view with the same members, please. */
void cv_consensus_refresh(struct cv_consensus *consensus);
/* A view has begun. */
void cv_consensus_began(struct cv_consensus *consensus);
/* Has another coordinate; to CV_NOBODY: whoever is next. False if that cannot be asked of anybody now. */
bool cv_consensus_step_down(struct cv_consensus *consensus, cv_node to);

/* ---- founding.c ---- */

/* A number for a directory that is new. */
uint32_t cv_founding_draw(void);
/* What the directory says of the group. */
struct cv_identity;
int cv_founding_open(struct cv_consensus *consensus, const struct cv_identity *identity,
                     struct cv_complaint *complaint);
/* Founds a group, if it is time to. */
void cv_founding_consider(struct cv_consensus *consensus);
void cv_founding_greeted(struct cv_consensus *consensus, cv_node node);
/* That member speaks with this node, knowing who it is. */
void cv_founding_accepted(struct cv_consensus *consensus, cv_node node);
/* That member does not, since this node's directory is empty. */
void cv_founding_refused(struct cv_consensus *consensus, cv_id by);
/* Somebody tells who belongs to the group. */
void cv_founding_welcome(struct cv_consensus *consensus, const struct cv_frame *frame);
void cv_founding_hear(struct cv_consensus *consensus, cv_node from, const struct cv_frame *frame);

/* ---- roster.c ---- */

struct cv_buffer;
struct cv_cursor;
/* What every member of a group that is being founded can tell from its configuration. */
uint64_t cv_roster_fingerprint(const struct cv_roster *roster);
/* Somebody whom the configuration lists is asked for. */
struct cv_member_setting;
void cv_roster_invite(struct cv_consensus *consensus, const struct cv_member_setting *setting);
void cv_roster_draw(struct cv_roster *roster, const struct cv_settings *settings);
void cv_roster_write_addresses(const struct cv_consensus *consensus, const struct cv_seating *seating,
                               struct cv_buffer *bytes);
/* Are these addresses of members, all of them whole? */
bool cv_roster_addresses_fit(struct cv_cursor bytes);
/*
 * The roster as an entry has it, with the addresses that follow. False, and nothing changes, if this node is not in it.
 */
bool cv_roster_follow(struct cv_consensus *consensus, uint64_t epoch, const struct cv_seating *seating,
                      struct cv_cursor *rest);
/* The roster as the last entry on disk has it. */
void cv_roster_recall(struct cv_consensus *consensus);
/* Does it know its place? Only the log can tell, if there is one already. */
bool cv_roster_is_seated(const struct cv_consensus *consensus);
/* Somebody whose roster is of that generation says that this node is not on it. Does that count? */
bool cv_roster_believes(const struct cv_consensus *consensus, uint64_t generation, bool was_known);
/* Asks for a change, until it has come true; a patient petition for ever. False if there are too many. */
bool cv_roster_petition(struct cv_consensus *consensus, const struct cv_petition *petition, bool patient);
/* A new member is to take the place of that one, of which the directory is lost. */
bool cv_roster_replace(struct cv_consensus *consensus, cv_node node);
/* This node leads the log, and somebody wants that. */
void cv_roster_grant(struct cv_consensus *consensus, const struct cv_petition *petition);
void cv_roster_hear(struct cv_consensus *consensus, const struct cv_frame *frame);
/* An entry is agreed: some of what was asked for may have come true. */
void cv_roster_notice(struct cv_consensus *consensus);
/* Time has passed. */
void cv_roster_pursue(struct cv_consensus *consensus);
/* May the one follow on the other, while this node runs? */
int cv_roster_check(const struct cv_consensus *consensus, const struct cv_settings *before,
                    const struct cv_settings *after, struct cv_complaint *complaint);
/* The difference between these configurations is petitioned for. */
void cv_roster_reconfigure(struct cv_consensus *consensus, const struct cv_settings *before,
                           const struct cv_settings *after);
/* Keeps the configuration's members on disk, to compare with those after a restart. */
void cv_roster_remember(struct cv_consensus *consensus);
void cv_roster_compare(struct cv_consensus *consensus);

/* ---- raft_terms.c ---- */

/* A view begins: this node goes by the terms of its entry. */
void cv_consensus_adopt_terms(struct cv_consensus *consensus);
/* The same at the start, with the last entry on disk. */
void cv_consensus_recall_terms(struct cv_consensus *consensus, const struct cv_seating *seating);
/* ---- consensus.c ---- */

/* The number by which a protocol knows a member, never 0; and the member of that number, or CV_NOBODY. */
uint64_t cv_consensus_seat(const struct cv_consensus *consensus, cv_node node);
cv_node cv_consensus_node(const struct cv_consensus *consensus, uint64_t seat);

#endif
