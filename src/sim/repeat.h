// SPDX-License-Identifier: MIT
/* Does a run that nothing disturbs repeat itself for ever? */
#ifndef CONCLAVE_SIM_REPEAT_H
#define CONCLAVE_SIM_REPEAT_H

#include "sim/world.h"

/* Has the world come back to a state it was in before? Then the run never ends; *period says how it repeats. */
bool repeat_found(struct cv_sim *sim, uint64_t *period);
int repeat_init(struct cv_sim *sim);
void repeat_free(struct cv_sim *sim);

#endif
