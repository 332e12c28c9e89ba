// SPDX-License-Identifier: MIT
/* Handlers of a plugin that fail: the run ends with the tick in which one does. */
#ifndef CONCLAVE_SIM_FAILURES_H
#define CONCLAVE_SIM_FAILURES_H

#include "sim/world.h"

/* Begins to listen, if the algorithm or its app is a plugin. Returns who listened until now, for failures_end(). */
struct cv_failure_listener *failures_listen(struct cv_sim *sim);
void failures_end(const struct cv_sim *sim, struct cv_failure_listener *former);

/* A simulation within this one has ended: if a handler failed there, this one ends, too. */
void failures_pass_on(struct cv_sim *sim, const struct cv_sim *inner);

#endif
