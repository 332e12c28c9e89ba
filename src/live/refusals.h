// SPDX-License-Identifier: MIT
/* What a member does when another refuses to speak with it, or is refused by it. */
#ifndef CONCLAVE_LIVE_REFUSALS_H
#define CONCLAVE_LIVE_REFUSALS_H

#include "live/net/objection.h"

/* For cv_peers_calls; the context is the member. */
void refusals_refused(void *context, const struct cv_frame *hello, bool was_known);
void refusals_objected(void *context, const struct cv_frame *hello, enum cv_refusal why);

#endif
