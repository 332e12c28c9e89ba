// SPDX-License-Identifier: MIT
/* The latest grants, ends and losses of this node's clients. */
#ifndef CONCLAVE_SERVICE_HTTP_RECENT_HOLDS_H
#define CONCLAVE_SERVICE_HTTP_RECENT_HOLDS_H

#include "service/lock.h"
#include "service/service.h"

#define RECENT_HOLDS 32u

struct recent_hold {
    uint64_t number; /* of all so far, from 1 */
    uint64_t at_ms;  /* by cv_loop_coarse_ms() */
    enum hold_change change;
    bool election, shared;
    cv_id node;
    uint64_t session;
    uint64_t fence;
    size_t name_length;
    char name[CV_NAME_BYTES];
};

struct recent_holds {
    uint64_t number; /* of the last */
    struct recent_hold ring[RECENT_HOLDS];
};

void recent_holds_add(struct recent_holds *recent, const struct lock_hold *hold, enum hold_change change);
/* The n-th from the last one, from 0; NULL if there is none. */
const struct recent_hold *recent_holds_last(const struct recent_holds *recent, uint32_t n);

#endif
