// SPDX-License-Identifier: MIT
/*
 * A try: LOCK or CAMPAIGN with WAIT 0. The algorithms know a request that is granted in the end, and no way to withdraw
 * it; a client can be told no only by a member that is inside. So the node asks the algorithm as for every client, and
 * asks all members whether they are inside; the first yes ends the try, after one round trip. If nobody is inside, the
 * entry comes as fast as the algorithm can. If neither comes, since the section is being handed over, the try ends
 * after twice the bound of a message.
 */
#ifndef CONCLAVE_SERVICE_TRY_LOCK_H
#define CONCLAVE_SERVICE_TRY_LOCK_H

#include "service/peer_notice.h"

struct lock;
struct waiter;

/* Asks all members whether they are inside. */
void try_lock_ask(struct waiter *waiter);
/* Is a client of this node inside, so that no other client gets in at once? */
bool try_lock_is_hopeless(const struct lock *lock, bool shares);

/* Another member asks whether this one is inside. */
void try_lock_hear_question(struct cv_service *service, const struct peer_notice *notice);
/* A member that was asked is inside. */
void try_lock_hear_answer(struct cv_service *service, const struct peer_notice *notice);

#endif
