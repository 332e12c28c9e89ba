// SPDX-License-Identifier: MIT
/* The part of a plan for synchronizers: the app, the number of rounds, the clusters. */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_SYNCHRONIZER_H
#define CONCLAVE_CORE_SCENARIO_PLAN_SYNCHRONIZER_H

#include "core/index.h"
#include "core/scenario/plan.h"

int plan_synchronizer_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                            struct cv_complaint *complaint);

/* Is that a setting of every synchronizer, and no parameter of the algorithm: rounds, clusters? */
bool plan_synchronizer_knows(const struct cv_plan *plan, const char *key, size_t length);

#endif
