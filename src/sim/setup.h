// SPDX-License-Identifier: MIT
/* Lays out the simulated world before a run, and resets nodes after a crash. */
#ifndef CONCLAVE_SIM_SETUP_H
#define CONCLAVE_SIM_SETUP_H

#include "sim/world.h"

/* Lays the nodes out in memory. 0 or CV_ENOMEM. */
int world_lay_out(struct cv_sim *sim);

/* Gives a node a fresh state, as at the beginning. */
void world_reset_node(struct cv_sim *sim, cv_node node);
void world_cancel_timers(struct cv_sim *sim, cv_node node);

#endif
