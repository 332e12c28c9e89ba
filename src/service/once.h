// SPDX-License-Identifier: MIT
/* ONCE: work that one client of the whole group does in each period. */
#ifndef CONCLAVE_SERVICE_ONCE_H
#define CONCLAVE_SERVICE_ONCE_H

#include "service/recipe.h"

extern const struct recipe_kind once_kind;

void once_run(struct session *session, const struct cv_resp_command *command);

#endif
