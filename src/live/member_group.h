// SPDX-License-Identifier: MIT
/*
 * A member's part in its group, for the rooms above: its status, its lease, and an operator's changes. These rooms need
 * not know how the members agree.
 */
#ifndef CONCLAVE_LIVE_MEMBER_GROUP_H
#define CONCLAVE_LIVE_MEMBER_GROUP_H

#include "core/error.h"
#include "group/raft/disk.h"
#include "group/seating.h"

struct cv_member;
struct cv_change_request;
struct cv_settings;

/* The status of a member of a group that agrees on its views. */
struct cv_member_status {
    const char *trouble;   /* why the member belongs to no group yet, or NULL */
    bool leaves;           /* the member is leaving, and gets no more grants */
    int64_t leader;        /* the id of the node that proposes views; -1: unknown */
    uint64_t term;         /* the leader's; with a tie-breaker, the number of the last entry */
    uint64_t lapses;       /* number of leases that ran out */
    uint64_t grace_ms;     /* the rest of the grace: only clients that claim their promises get names */
    uint64_t hold_off_ms;  /* a better coordinator takes over after so long */
    uint64_t heartbeat_ms; /* as the configuration has it */
    struct cv_lease_terms lease;
    const struct cv_seating *seating; /* what was agreed last */
    bool terms_count;                 /* all members of the view go by the terms of the last entry */
    cv_set voters;                    /* members whose votes count for leases and, as far as known, for the log */

    /* A log. */
    uint64_t committed, stored; /* indexes */
    cv_set log_voters;          /* the nodes that vote in the log; they follow the entry one at a time */
    struct cv_disk_times disk;
    const char *directory;

    /* A tie-breaker. */
    const char *witness;         /* the path of its file, or NULL */
    const char *witness_trouble; /* why the file is of no use now, or NULL */
};

/* "raft", "tie", "static" or "single". */
const char *cv_member_mode(const struct cv_member *member);
/* Does the group agree on its views, by "raft" or "tie"? Only then there are leases and a status. */
bool cv_member_agrees(const struct cv_member *member);
/* May the terms be changed while the group runs? May the members? */
bool cv_member_changes_terms(const struct cv_member *member);
bool cv_member_changes_members(const struct cv_member *member);
void cv_member_status(const struct cv_member *member, struct cv_member_status *status);
/* The number of views that have begun here. */
uint64_t cv_member_views(const struct cv_member *member);

/* ---- the lease ---- */

/* Looks at the clock. If the lease is over, the service hears of it before anything else happens. */
void cv_member_look(struct cv_member *member);
/* May this node grant anything to clients at this very moment? */
bool cv_member_serves(const struct cv_member *member);
/*
 * Now, or earlier: when the lease ran out with which everything ended that this node let clients hold. A node that
 * hangs notices it later. By cv_loop_now().
 */
uint64_t cv_member_held_until(const struct cv_member *member);
/* Has this node a lease at this very moment? */
bool cv_member_leased(const struct cv_member *member);
/* Should a waiting client hear that there is no majority? A client that only tries hears it sooner. */
bool cv_member_is_hopeless(const struct cv_member *member, bool tries);
/* The time left for this node to grant, by its own clock; and for clients to rely on it, by theirs. */
uint64_t cv_member_lease_left_us(const struct cv_member *member);
int64_t cv_member_lease_left_ms(const struct cv_member *member);
/* The time that this node has to wait until `us` have passed by every client's clock. */
uint64_t cv_member_outlast_us(const struct cv_member *member, uint64_t us);
/* Do enough members know a promise for it to outlive this node? */
bool cv_member_is_enough(const struct cv_member *member, cv_set aware);
/* May the next view be without this node while it lives? A voter that leaves gives back its vote in a view before. */
bool cv_member_may_be_left_out(const struct cv_member *member);

/* ---- changes ---- */

/* This node leaves in order, and no client holds anything here, so the others need not wait for its lease. */
void cv_member_leave(struct cv_member *member);
/* Makes another node coordinate; CV_NOBODY: the next best. False if no leader can be asked now. */
bool cv_member_step_down(struct cv_member *member, cv_node to);
/* Asks for a change until it is agreed, or a while has passed. False if there are too many requests. */
bool cv_member_request(struct cv_member *member, const struct cv_change_request *request);
/* A new member takes that member's place, whose directory is lost. */
bool cv_member_replace(struct cv_member *member, cv_node node);
/* May the second configuration replace the first while this node runs? */
int cv_member_check(const struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after,
                    struct cv_complaint *complaint);
/* The second configuration replaces the first. */
void cv_member_reconfigure(struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after);

#endif
