// SPDX-License-Identifier: MIT
#ifndef CONCLAVE_SIM_HEARD_H
#define CONCLAVE_SIM_HEARD_H

#include "sim/world.h"

/* Are the messages to each node in the order of their senders, in the list of this tick? */
bool heard_in_order(struct cv_sim *sim);

#endif
