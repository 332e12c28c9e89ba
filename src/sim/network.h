// SPDX-License-Identifier: MIT
/* The network: delays, cuts and planned crashes decide when a message arrives, if at all. */
#ifndef CONCLAVE_SIM_NETWORK_H
#define CONCLAVE_SIM_NETWORK_H

#include "sim/world.h"

/* Sends the messages in the outbox. */
void network_send_all(struct cv_sim *sim);

/* Puts a message under way over `hops` links, one after the other. `number` tells it from others of its channel. */
void network_carry(struct cv_sim *sim, const struct cv_message *message, uint64_t serial, uint32_t hops,
                   uint64_t number);

/* The number of links between two nodes now; 0 if the network is cut between them. */
uint32_t network_hops(const struct cv_sim *sim, cv_node from, cv_node to);

#endif
