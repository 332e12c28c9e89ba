// SPDX-License-Identifier: MIT
/* Which promises outlive a view, and which member keeps each of them in the next. */
#ifndef CONCLAVE_LIVE_VIEW_PROMISES_H
#define CONCLAVE_LIVE_VIEW_PROMISES_H

#include "group/view.h"

struct cv_instance;
struct cv_member;
struct cv_promise;

/*
 * What the members of the next view remember of promises while it is prepared. A majority of the voters knows each
 * promise. As long as less than a majority has forgotten its promises or is gone, at least one member reports each
 * promise that counts. Otherwise there is a time of grace, as long as the longest promise that any disk knows of: only
 * a client that claims its promise gets a name.
 */
struct view_promises {
    uint64_t epoch[CV_MAX_MEMBERS]; /* the epoch of each member's last view; 0: it has just started */
    cv_set heard;                   /* members that have reported */
    uint64_t ceiling_ms;            /* the highest ceiling of all disks */
    uint64_t grace_ms;              /* the rest of the grace, or the grace that begins with the view */
    bool prepares;                  /* this node prepares the view */
    bool settled;                   /* this node has decided which promises live on */
    uint64_t entry;                 /* the epoch of the last entry that this node knows */
    uint64_t prior;                 /* the epoch of the entry before it */
};

/* A view is over. `prepares`: this node prepares the next. */
void view_promises_begin(struct cv_member *member, bool prepares);
/* A member reports: the view since which it has forgotten nothing, the ceiling on its disk, the rest of a grace. */
void view_promises_hear(struct cv_member *member, cv_node from, uint64_t epoch, uint64_t ceiling_ms, uint64_t grace_ms);
/* A member knows of this promise. */
void view_promises_add(const struct cv_member *member, struct cv_instance *instance, cv_node from,
                       const struct cv_promise *promise);
/* All have reported: decides which promises live on, which member keeps each, and whether there is a grace. */
void view_promises_settle(struct cv_member *member);
/* The view begins with these promises. */
void view_promises_end(struct cv_member *member, const struct cv_view *view);
/* The rest of the grace. */
uint64_t view_promises_grace_ms(const struct cv_member *member);

#endif
