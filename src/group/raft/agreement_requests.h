// SPDX-License-Identifier: MIT
/* Requests to the log, which only a leader carries out, and questions about it. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_REQUESTS_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_REQUESTS_H

#include "group/raft/agreement.h"

struct cv_disk_times;

enum cv_seat_role {
    CV_SEAT_STANDBY, /* gets all entries, has no vote */
    CV_SEAT_VOTER,
    CV_SEAT_SPARE /* is known, and gets nothing */
};

struct cv_seat {
    uint64_t id; /* not 0 */
    enum cv_seat_role role;
};

/* Requests return 0 and a number that `decided` repeats, or CV_ENOTLEADER, CV_EBUSY, CV_EINPUT, CV_ENOMEM, CV_EFILE. */
int cv_agreement_propose(struct cv_agreement *agreement, const void *bytes, size_t length, uint64_t *number);
/* A new member begins as a spare. The log takes one change at a time. */
int cv_agreement_add(struct cv_agreement *agreement, uint64_t id, uint64_t *number);
int cv_agreement_assign(struct cv_agreement *agreement, uint64_t id, enum cv_seat_role role, uint64_t *number);
/* The member itself is not told. */
int cv_agreement_remove(struct cv_agreement *agreement, uint64_t id, uint64_t *number);
/* Transfers leadership to `to`, or to any fit member if that is 0. */
int cv_agreement_transfer(struct cv_agreement *agreement, uint64_t to, uint64_t *number);

/*
 * A time at which a majority of voters knew that this member leads, or 0 if it does not. As long as clocks run alike,
 * no other member can lead before election_ms have passed since.
 */
uint64_t cv_agreement_heard_ms(const struct cv_agreement *agreement);

struct cv_agreement_status {
    uint64_t leader, term; /* as the callback told last */
    bool leads;
    uint64_t committed, applied, stored; /* indexes */
};

/* All zero if there is no log (NULL). */
struct cv_agreement_status cv_agreement_status(const struct cv_agreement *agreement);
/* How long the disk took so far; group/raft/disk.h. */
void cv_agreement_disk(const struct cv_agreement *agreement, struct cv_disk_times *times);
/* The last stored entry, agreed or not, or NULL. After a restart it hints at the members to talk to. */
const void *cv_agreement_last(const struct cv_agreement *agreement, size_t *length);
/* The present members, at most `limit` of them. Returns how many there are. */
size_t cv_agreement_seats(const struct cv_agreement *agreement, struct cv_seat *seats, size_t limit);

/* ---- for the other files of the agreement ---- */

/* As cv_agreement_heard_ms, but also while this leader cannot accept requests yet. */
uint64_t cv_agreement_contact_ms(const struct cv_agreement *agreement);
/* Continues a transfer of leadership. */
void cv_agreement_yield(struct cv_agreement *agreement);

#endif
