// SPDX-License-Identifier: MIT
/*
 * FORCE: an operator ends somebody's hold. The holder is told at once, and may not renew the hold any more. But it may
 * be slow, or not hear it, so nobody else is let in before the holder gives the hold back, or the time is over that the
 * holder was promised: its time to live, what RENEW told it, or, if it has asked for nothing, the node's lease. Where
 * there are no leases it has a second.
 */
#ifndef CONCLAVE_SERVICE_FORCE_H
#define CONCLAVE_SERVICE_FORCE_H

#include "service/peer_notice.h"

struct lock_hold;

#define FORCE_REASON_BYTES 256u /* of a reason, at most */

/* Forces a hold that this node keeps. */
void force_hold(struct lock_hold *hold, struct cv_text admin, struct cv_text reason);
/* Another member has forced a hold that it keeps. */
void force_hear(struct cv_service *service, const struct peer_notice *notice);

#endif
