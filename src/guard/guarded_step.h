// SPDX-License-Identifier: MIT
/* Takes one step of a guarded algorithm: lends it copies, looks at what it did, and writes that into the node. */
#ifndef CONCLAVE_GUARD_GUARDED_STEP_H
#define CONCLAVE_GUARD_GUARDED_STEP_H

#include "guard/handler.h"

void guarded_step(struct handler_use *use);

/* The size of a node's state, from the algorithm's own function. */
size_t guarded_state_size(const struct guarded *guarded, const struct cv_group *group, cv_node node);

#endif
