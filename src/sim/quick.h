// SPDX-License-Identifier: MIT
/* The quick way through a tick: for runs of millions of nodes, without an observer and without faults. */
#ifndef CONCLAVE_SIM_QUICK_H
#define CONCLAVE_SIM_QUICK_H

#include "sim/world.h"

/* Moves the outbox to the calendar. */
void quick_send(struct cv_sim *sim);

/* Puts a message of another worker into the calendar. */
void quick_put(struct cv_sim *sim, const struct cv_message *message, uint64_t due);

/* Delivers the messages of the tick, and of the next ones as long as nothing else is to be done. */
void quick_mail(struct cv_sim *sim);

/* The quick way counts messages as they arrive. This counts those that are still under way. */
void quick_count_rest(struct cv_sim *sim);

#endif
