// SPDX-License-Identifier: MIT
/* A failed step in words: what happened to the node, its state before that, and what its handler did. */
#ifndef CONCLAVE_GUARD_FAILURE_TEXT_H
#define CONCLAVE_GUARD_FAILURE_TEXT_H

#include "core/scenario/scenario.h"
#include "guard/handler.h"

/* The scenario as the algorithm of this step sees it, which may be the app of a synchronizer; `known` may be NULL. */
struct cv_scenario failure_scene(const struct cv_scenario *known, const struct handler_use *use);

void failure_text(char *text, size_t room, const struct cv_scenario *scene, const struct handler_use *use,
                  const char *what);

#endif
