// SPDX-License-Identifier: MIT
/* The quick way through a tick: for runs of millions of nodes, without an observer and without faults. */
#ifndef CONCLAVE_SIM_QUICK_H
#define CONCLAVE_SIM_QUICK_H

#include "sim/world.h"

/* Lets a step that is not the receipt of a message write its messages into the next tick's list: `sim->direct`. */
void quick_begin(struct cv_sim *sim);

/* Moves the outbox to the calendar, unless it is there. */
void quick_send(struct cv_sim *sim);

/* Puts a message of another worker into the calendar; or, if `sim->direct`, a row of them: see elsewhere.h. */
void quick_put(struct cv_sim *sim, const struct cv_message *message, uint64_t due);
void quick_put_row(struct cv_sim *sim, const struct cv_row *row, uint64_t due);

/* Delivers the messages of the tick, and of the next ones as long as nothing else is to be done. */
void quick_mail(struct cv_sim *sim);

/* Looks at the messages that are still under way: at each row of them, the first one and how many further ones. */
typedef void quick_look(struct cv_sim *sim, const struct cv_message *first, uint32_t further);
void quick_look_at_rest(struct cv_sim *sim, quick_look *look);

/* The quick way counts messages as they arrive. This counts some that are still under way. */
quick_look quick_count;

#endif
