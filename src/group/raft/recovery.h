// SPDX-License-Identifier: MIT
/*
 * A group that has lost its majority for good goes on with one of its members, by the operator's word. Entries that the
 * others agreed on without it are lost. The group gets a new identity, so that no member of the old one is taken for
 * one of the new, and its epochs go on so far above that fences rise. No process may use the directory meanwhile.
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
    cv_id id; /* of the member whose directory it is */
    uint64_t last_epoch, next_epoch;
    cv_set others; /* places of the other members */
    cv_id ids[CV_MAX_MEMBERS];
};

#define CV_RECOVERY_LEAP 256u /* epochs that the others may have gone on to without the survivor */

/* Writes the directory's journal anew, and keeps the old one as `journal.lost`. Only looks, if `dry`. 0, CV_ENOMEM,
 * CV_EFILE, or CV_EINPUT and a complaint. */
int cv_group_recover(struct cv_group_recovery *recovery, bool dry, struct cv_complaint *complaint);

#endif
