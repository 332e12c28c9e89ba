// SPDX-License-Identifier: MIT
/* LATCH: a count that falls to zero. Then it is open, for everybody who waits and everybody who comes later. */
#ifndef CONCLAVE_SERVICE_LATCH_H
#define CONCLAVE_SERVICE_LATCH_H

#include "service/recipe.h"

extern const struct recipe_kind latch_kind;

void latch_run(struct session *session, const struct cv_resp_command *command);

#endif
