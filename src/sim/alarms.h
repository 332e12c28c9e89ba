// SPDX-License-Identifier: MIT
/* The timers that are due, and the clients' alarms: node by node, at a node in the order in which they were set. */
#ifndef CONCLAVE_SIM_ALARMS_H
#define CONCLAVE_SIM_ALARMS_H

#include "sim/world.h"

void alarms_fire(struct cv_sim *sim);
void alarms_free(struct cv_sim *sim);

#endif
