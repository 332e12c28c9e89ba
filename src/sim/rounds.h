// SPDX-License-Identifier: MIT
/* The rounds of synchronizers, and the numbers that algorithms come to. */
#ifndef CONCLAVE_SIM_ROUNDS_H
#define CONCLAVE_SIM_ROUNDS_H

#include "sim/world.h"

int rounds_init(struct cv_sim *sim);
void rounds_free(struct cv_sim *sim);

/* The step began a round; what it sends is still in the outbox. */
void rounds_pulse(struct cv_sim *sim);

/* The step came to a number. */
void rounds_result(struct cv_sim *sim);
void rounds_stand(const struct cv_sim *sim, cv_node node, struct cv_standing *standing);
void rounds_tell(struct cv_sim *sim); /* the run what it needs to know to be judged */

#endif
