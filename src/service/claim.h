// SPDX-License-Identifier: MIT
/*
 * In a time of grace a client claims, by RENEW with its fence, its secret and its time, what it was promised before
 * everybody forgot. Nobody can check that. But of two claims for one name that exclude each other one client has lost
 * the name: the group believes the first, and never one with a lower fence than it has believed.
 */
#ifndef CONCLAVE_SERVICE_CLAIM_H
#define CONCLAVE_SERVICE_CLAIM_H

#include "service/peer_request.h"

struct lock;
struct waiter;

/* What was claimed of a name in this time of grace, as far as this node knows. */
struct claims {
    uint64_t highest;       /* the highest fence; 0: none */
    uint64_t highest_alone; /* the highest of a hold that was not shared */
    uint64_t forced;        /* the fence of the hold that an operator has forced last; 0: none */
};

/* May the session claim by this order what nobody knows? */
bool claim_is_allowed(const struct session *session, const struct peer_request_order *order);
void claim_begin(struct session *session, struct cv_text name, const struct peer_request_order *order);
/* Somebody's hold is promised. */
void claim_note(struct lock *lock, uint64_t fence, bool shared);
/* An operator has forced a hold: nobody claims it any more. */
void claim_forced(struct lock *lock, uint64_t fence);
/* Is the name somebody else's, or has it been since, or was the hold forced? */
bool claim_is_lost(const struct lock *lock, const struct waiter *wait);
/* Does the lock have to be remembered for what was claimed of it? */
bool claim_is_remembered(const struct lock *lock);

#endif
