// SPDX-License-Identifier: MIT
/*
 * Holds with a time to live outlast their node. Before a client is told that it has one, a majority of the voters knows
 * it (live/view_promises.c): one round trip more, no disk, no consensus. Only the hold's keeper counts its time. The
 * keeper is the node that granted it, as long as that node is in the view, then another member, for the whole time to
 * live from the beginning of its view, since nobody else knows when the hold was renewed last. So the keeper alone
 * answers a renewal: what it has told while it had its lease was told before any view without it began.
 */
#ifndef CONCLAVE_SERVICE_TTL_PROMISE_H
#define CONCLAVE_SERVICE_TTL_PROMISE_H

#include "service/peer_notice.h"

struct lock_hold;
struct lock;

enum { TTL_PROMISE_LATER = -3 }; /* enough members have yet to know it */

/* Tells the others of a hold with a time to live; its client is told once enough of them know. False: no memory. */
bool ttl_promise_make(struct lock_hold *hold);
/* The hold may not be renewed any more, whichever member keeps it: the others are told. */
void ttl_promise_forced(struct lock_hold *hold);
/* A member knows that. */
void ttl_promise_forced_known(struct lock_hold *hold, cv_node node);
/*
 * The hold has that time to live from now on. How long it lasts in milliseconds; TTL_PROMISE_LATER: it is longer than
 * before, and peer_request_lengthened() tells when enough members know it; -1: no memory.
 */
int64_t ttl_promise_change(struct lock_hold *hold, uint64_t ttl_ms);
/* The hold has ended. */
void ttl_promise_end(const struct lock_hold *hold);
/* The promise of that fence as this view knows it, or NULL. */
struct cv_promise *ttl_promise_find(const struct lock *lock, uint64_t fence);
/* A view has begun: this node keeps some promises of others from now on. */
void ttl_promise_inherit(struct lock *lock);
/* The client of this hold was not told yet, and waits again: others that keep the hold are asked to end it. */
void ttl_promise_withdraw(struct lock_hold *hold);
/* The disk covers longer times to live than before. */
void ttl_promise_covered(void *context);
/* Is there a time of grace, in which names are given only to clients that claim them? */
bool ttl_promise_in_grace(const struct cv_service *service);

/* Another member has granted a hold with a time to live. */
void ttl_promise_hear(struct cv_service *service, const struct peer_notice *notice);
/* Another member knows of such a hold of this node. */
void ttl_promise_hear_known(struct cv_service *service, const struct peer_notice *notice);
/* Such a hold of another member has ended. */
void ttl_promise_hear_over(struct cv_service *service, const struct peer_notice *notice);

#endif
