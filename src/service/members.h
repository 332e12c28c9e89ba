// SPDX-License-Identifier: MIT
/* MEMBERS: the clients that have joined a name, the same list at every node. */
#ifndef CONCLAVE_SERVICE_MEMBERS_H
#define CONCLAVE_SERVICE_MEMBERS_H

#include "service/recipe.h"

extern const struct recipe_kind members_kind;

void members_run(struct session *session, const struct cv_resp_command *command);

#endif
