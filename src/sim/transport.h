// SPDX-License-Identifier: MIT
/* Reliable channels over a network that loses, duplicates or reorders packets. */
#ifndef CONCLAVE_SIM_TRANSPORT_H
#define CONCLAVE_SIM_TRANSPORT_H

#include "sim/world.h"

int transport_init(struct cv_sim *sim);
void transport_free(struct cv_sim *sim);
void transport_send(struct cv_sim *sim, const struct cv_message *message, uint64_t serial);

/* A message arrives. True if it is a packet, which this handles. */
bool transport_arrive(struct cv_sim *sim, const struct cv_message *packet);
void transport_alarm(struct cv_sim *sim, const struct alarm *alarm);
cv_node transport_alarmed(const struct cv_sim *sim, const struct alarm *alarm); /* the node whose channel it is */

/* A node died, or the network was cut: breaks the links that cannot work any more. */
void transport_forget(struct cv_sim *sim, cv_node node);
void transport_cut(struct cv_sim *sim);
void transport_break_all(struct cv_sim *sim);

/* Is a packet still unacknowledged? */
bool transport_busy(const struct cv_sim *sim);

#endif
