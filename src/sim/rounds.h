// SPDX-License-Identifier: MIT
/* The rounds of synchronizers, and the results of algorithms. */
#ifndef CONCLAVE_SIM_ROUNDS_H
#define CONCLAVE_SIM_ROUNDS_H

#include "sim/world.h"

int rounds_init(struct cv_sim *sim);
void rounds_free(struct cv_sim *sim);

/* The step began a round; its messages are still in the outbox. */
void rounds_pulse(struct cv_sim *sim);

/* The step has a result. */
void rounds_result(struct cv_sim *sim);
void rounds_stand(const struct cv_sim *sim, cv_node node, struct cv_standing *standing);
void rounds_tell(struct cv_sim *sim); /* fills in the run, for the judges */

#endif
