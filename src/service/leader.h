// SPDX-License-Identifier: MIT
/*
 * The leaders of elections by name. Every change is told to all members, and by them to all observers, everywhere in
 * the same order: that of the fences. When a leader has ended, its node hands the leadership on only after all members
 * of the view have said that they know, so that no change overtakes another. If the view ends before, the next one
 * begins with what its members report.
 */
#ifndef CONCLAVE_SERVICE_LEADER_H
#define CONCLAVE_SERVICE_LEADER_H

#include "core/kept_text.h"
#include "service/peer_notice.h"

struct lock_hold;
struct lock;

/* The latest leader that this node has heard of. */
struct leader {
    cv_id id;         /* the node that granted it */
    bool leads;       /* it still does */
    uint64_t session; /* of that node */
    uint64_t fence;
    struct cv_kept_text *value; /* that it publishes, or NULL */
};

/* A client of this node leads, or holds a lock that is watched, from now on, or does not any more. */
void leader_announce(struct lock *lock, const struct lock_hold *hold, bool leads);
/* A view has begun. */
void leader_resume(struct lock *lock);
/* The name is gone. */
void leader_forget(struct lock *lock);

/* Clients of this node watch a lock, or do not any more. */
void leader_watch(struct lock *lock, bool watches);
void leader_hear_watch(struct cv_service *service, const struct peer_notice *notice);
/* A client of another member leads, or leads no more. */
void leader_hear_change(struct cv_service *service, const struct peer_notice *notice);
/* Another member knows that the leader of that fence has ended. */
void leader_hear_known(struct cv_service *service, const struct peer_notice *notice);

#endif
