// SPDX-License-Identifier: MIT
/*
 * FORCE: an operator ends somebody's hold. The holder is told at once, and may not renew the hold any more. But it may
 * be slow, or not hear it, so nobody else is let in before the holder gives the hold back, or the time is over that the
 * holder was promised: its time to live, what RENEW told it, or, if it has asked for nothing, the node's lease. Where
 * there are no leases it has a second.
 *
 * A hold with a time to live outlasts its keeper, and whoever keeps it then has to know. So the operator is told no
 * sooner than enough members know that it is forced, as many as have to know the hold itself (service/ttl_promise.h),
 * or than the hold is over:
 *
 *     the operator's node        keeper                     the others
 *     FORCE           -------->  renews it no more
 *                                FORCED, to everybody  --->  remember it
 *                                                      <---  FORCED
 *                                enough know
 *                     <--------  ANSWER
 */
#ifndef CONCLAVE_SERVICE_FORCE_H
#define CONCLAVE_SERVICE_FORCE_H

#include "service/peer_notice.h"

struct lock_hold;

#define FORCE_REASON_BYTES 256u /* of a reason, at most */

/*
 * Forces a hold that this node keeps; `again`: the same command has done so before. False: enough members have yet to
 * know it, and peer_request_known() tells when they do.
 */
bool force_hold(struct lock_hold *hold, struct cv_text admin, struct cv_text reason, bool again);
/* Another member has forced a hold that it keeps, or knows that this one has. */
void force_hear(struct cv_service *service, const struct peer_notice *notice);

#endif
