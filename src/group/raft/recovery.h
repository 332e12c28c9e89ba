// SPDX-License-Identifier: MIT
/*
 * Recovers a group that has lost its majority for good from one surviving member, on the operator's order. Entries that
 * the others agreed on without the survivor are lost. The group gets a new identity, so that the new members refuse
 * those of the old group. Its epochs leap ahead, so that fences rise. No process may use the directory meanwhile.
 */
#ifndef CONCLAVE_GROUP_RAFT_RECOVERY_H
#define CONCLAVE_GROUP_RAFT_RECOVERY_H

#include "core/error.h"
#include "group/view.h"

struct cv_group_recovery {
    const char *directory;
    uint64_t group;       /* the identity of the new group */
    uint64_t fence_floor; /* the highest fence that anybody has seen; 0: not known */

    /* The outcome */
    cv_id id; /* of the surviving member */
    uint64_t last_epoch, next_epoch;
    cv_set others; /* the places of the other members */
    cv_id ids[CV_MAX_MEMBERS];
};

#define CV_RECOVERY_LEAP 256u /* epochs that the others may have gone on to without the survivor */

/* Writes the directory's journal anew, and keeps the old one as `journal.lost`. If `dry`, it changes nothing. 0,
 * CV_ENOMEM, CV_EFILE, or CV_EINPUT and a complaint. */
int cv_group_recover(struct cv_group_recovery *recovery, bool dry, struct cv_complaint *complaint);

#endif
