// SPDX-License-Identifier: MIT
/* The rounds of a synchronizer, watched as an outsider would. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_ROUNDS_H
#define CONCLAVE_EXPLORE_EXPLORED_ROUNDS_H

#include "explore/explored.h"

/* The step began a round; what it sends is still in the outbox. */
void explored_pulse(struct explored *world);

#endif
