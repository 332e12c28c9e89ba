// SPDX-License-Identifier: MIT
/* Lays out the simulated world before a run, and resets nodes after a crash. */
#ifndef CONCLAVE_SIM_SETUP_H
#define CONCLAVE_SIM_SETUP_H

#include "sim/world.h"

/*
 * As cv_sim_new(). In a shared run only the nodes that are here get a state, and the pages of the others are never
 * touched: they take no memory.
 */
int world_new(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options,
              struct elsewhere *elsewhere);

/* A worker for some of the nodes of `world`, which must outlive it. 0 or CV_ENOMEM. */
int world_new_worker(struct cv_sim **worker, struct cv_sim *world, struct elsewhere *elsewhere);
void world_free_worker(struct cv_sim *worker);

/* Lays the nodes out in memory. 0 or CV_ENOMEM. */
int world_lay_out(struct cv_sim *sim);

/* Gives a node a fresh state, as at the beginning. */
void world_reset_node(struct cv_sim *sim, cv_node node);
void world_cancel_timers(struct cv_sim *sim, cv_node node);

#endif
