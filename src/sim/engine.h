// SPDX-License-Identifier: MIT
/* The steps of nodes: each begins with an event, runs a handler, and ends with its effects carried out. */
#ifndef CONCLAVE_SIM_ENGINE_H
#define CONCLAVE_SIM_ENGINE_H

#include "sim/world.h"

/* Begins a step of a node that is not the receipt of a message: one tick of its clock, if it is an event at all. */
struct cv_self *world_begin(struct cv_sim *sim, cv_node node, struct cv_event *event);

/* Carries out what the step recorded. */
void world_finish(struct cv_sim *sim);
void world_deliver(struct cv_sim *sim, const struct cv_message *message, uint64_t serial);

/* Tells the observer, if there is one. */
void world_tell(struct cv_sim *sim, const struct cv_event *event);

#endif
