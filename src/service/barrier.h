// SPDX-License-Identifier: MIT
/*
 * BARRIER: clients wait until so many have come, then all go on. With ENTER they stay inside, and LEAVE waits until
 * everybody who is inside has left.
 */
#ifndef CONCLAVE_SERVICE_BARRIER_H
#define CONCLAVE_SERVICE_BARRIER_H

#include "service/recipe.h"

#define MOST_PARTIES 500u /* there is room for so many in a state */

extern const struct recipe_kind barrier_kind;

void barrier_run(struct session *session, const struct cv_resp_command *command);

#endif
