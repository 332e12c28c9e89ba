// SPDX-License-Identifier: MIT
/* Messages go from the outbox of a step on their way, as delays, cuts and planned crashes allow. */
#ifndef CONCLAVE_SIM_NETWORK_H
#define CONCLAVE_SIM_NETWORK_H

#include "sim/world.h"

/* Sends what lies in the outbox, through whatever the network and the planned crashes do to it. */
void network_send_all(struct cv_sim *sim);

/* Puts a message under way. `hops` links, one after the other. */
void network_carry(struct cv_sim *sim, const struct cv_message *message, uint64_t serial, uint32_t hops);

/* How many links lie between two nodes now: 0 if the network is cut between them. */
uint32_t network_hops(const struct cv_sim *sim, cv_node from, cv_node to);

#endif
