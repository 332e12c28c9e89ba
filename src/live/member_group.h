// SPDX-License-Identifier: MIT
/*
 * A member's part in its group, for the rooms above: how it stands, how long its lease lasts, and what an operator
 * wants changed. They need not know how the members agree.
 */
#ifndef CONCLAVE_LIVE_MEMBER_GROUP_H
#define CONCLAVE_LIVE_MEMBER_GROUP_H

#include "core/error.h"
#include "group/raft/disk.h"
#include "group/seating.h"

struct cv_member;
struct cv_change_request;
struct cv_settings;

/* How a member of a group that agrees on its views stands. */
struct cv_member_status {
    const char *trouble;   /* why it belongs to no group yet, or NULL */
    bool leaves;           /* it is leaving, and is granted nothing any more */
    int64_t leader;        /* the id of the node that proposes views, -1: not known */
    uint64_t term;         /* the leader's; of a tie-breaker, the number of the last entry */
    uint64_t lapses;       /* leases that ran out */
    uint64_t grace_ms;     /* that are left: names are given only to clients that claim what they were promised */
    uint64_t hold_off_ms;  /* a better coordinator takes over after so long */
    uint64_t heartbeat_ms; /* as the configuration has it */
    struct cv_lease_terms lease;
    const struct cv_seating *seating; /* what was agreed last */
    bool terms_count;                 /* everybody in the view goes by the terms of the last entry */
    cv_set voters;                    /* members whose votes count for leases and, as far as it knows, for the log */

    /* A log. */
    uint64_t committed, stored; /* indexes */
    cv_set log_voters;          /* the nodes that vote in it; they follow what is agreed, one at a time */
    struct cv_disk_times disk;
    const char *directory;

    /* A tie-breaker. */
    const char *witness;         /* the path of its file, or NULL */
    const char *witness_trouble; /* why it is of no use now, or NULL */
};

/* "raft", "tie", "static" or "single". */
const char *cv_member_mode(const struct cv_member *member);
/* Does the group agree on its views, by "raft" or "tie"? Only then there are leases and a status. */
bool cv_member_agrees(const struct cv_member *member);
/* May the terms be changed while the group runs? May the members? */
bool cv_member_changes_terms(const struct cv_member *member);
bool cv_member_changes_members(const struct cv_member *member);
void cv_member_status(const struct cv_member *member, struct cv_member_status *status);
/* How many views have begun. */
uint64_t cv_member_views(const struct cv_member *member);

/* ---- the lease ---- */

/* Looks at the clock: if the lease is over, the service is told before anything else happens. */
void cv_member_look(struct cv_member *member);
/* May clients be given anything at this very moment? */
bool cv_member_serves(const struct cv_member *member);
/* Has it a lease at this very moment? */
bool cv_member_leased(const struct cv_member *member);
/* Is a client that waits to be told that there is no majority? One that only tries is told sooner. */
bool cv_member_is_hopeless(const struct cv_member *member, bool tries);
/* How long this node may surely go on granting, by its own clock; and how long clients may rely on it, by theirs. */
uint64_t cv_member_lease_left_us(const struct cv_member *member);
int64_t cv_member_lease_left_ms(const struct cv_member *member);
/* How long this node has to wait until so much time has passed by the clock of every client. */
uint64_t cv_member_outlast_us(const struct cv_member *member, uint64_t us);
/* Do enough members know a promise, so that it outlives this node? */
bool cv_member_is_enough(const struct cv_member *member, cv_set aware);

/* ---- changes ---- */

/* This node leaves in order, and no client holds anything here: the others need not wait for its lease. */
void cv_member_leave(struct cv_member *member);
/* Has another coordinate; to CV_NOBODY: the next one. False if that cannot be asked of anybody now. */
bool cv_member_step_down(struct cv_member *member, cv_node to);
/* Asks for a change until it has come true, or a while has passed. False if there are too many. */
bool cv_member_request(struct cv_member *member, const struct cv_change_request *request);
/* A new member takes the place of that one, whose directory is lost. */
bool cv_member_replace(struct cv_member *member, cv_node node);
/* May the one configuration follow on the other while this node runs? */
int cv_member_check(const struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after,
                    struct cv_complaint *complaint);
/* The second follows on the first. */
void cv_member_reconfigure(struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after);

#endif
