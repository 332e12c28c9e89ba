// SPDX-License-Identifier: MIT
/*
 * Promises: holds with a time to live, as all members of the view know them, so that they outlive the node that granted
 * them. The service makes and ends them; a new view takes them over (live/view_promises.c).
 */
#ifndef CONCLAVE_LIVE_HOST_PROMISE_H
#define CONCLAVE_LIVE_HOST_PROMISE_H

#include "group/view.h"

#define CV_LONGEST_TTL_MS ((uint64_t)1 << 40) /* no time to live is longer */

struct cv_promise {
    struct cv_promise *next;
    uint64_t fence;
    uint64_t ttl_ms;
    uint64_t entry;      /* the algorithm's fence of the entry that it belongs to */
    uint64_t generation; /* the readers that are inside together; 0: it is not shared */
    uint64_t digest[2];  /* of its secret */
    uint64_t owner;      /* the session that it was granted to */
    cv_id origin;        /* that session's node */
    cv_node keeper;      /* the member that counts its time, renews it and ends it */
    bool acknowledged;   /* this node has told the keeper that it knows */
    cv_set known_by;     /* while a view is prepared: the members that have reported it */
    uint64_t known_in;   /* while a view is prepared: the latest view that one of them was in */
};

/* Adds it, or replaces the one with the same fence; NULL if there is no memory. */
struct cv_promise *cv_promise_put(struct cv_promise **list, const struct cv_promise *promise);
struct cv_promise *cv_promise_find(struct cv_promise *list, uint64_t fence);
/* Frees the one that it points to. */
void cv_promise_drop(struct cv_promise **at);
void cv_promise_drop_all(struct cv_promise **list);

#endif
