// SPDX-License-Identifier: MIT
/* Finds runs that repeat for ever. */
#ifndef CONCLAVE_SIM_REPEAT_H
#define CONCLAVE_SIM_REPEAT_H

#include "sim/world.h"

/* Has the world returned to an earlier state? Then the run never ends; *period is the number of ticks of a turn. */
bool repeat_found(struct cv_sim *sim, uint64_t *period);
int repeat_init(struct cv_sim *sim);
void repeat_free(struct cv_sim *sim);

#endif
