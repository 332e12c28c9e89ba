// SPDX-License-Identifier: MIT
/* The part of a plan for mutual exclusion: requests to enter, voting sets, clocks, views. */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_MUTEX_H
#define CONCLAVE_CORE_SCENARIO_PLAN_MUTEX_H

#include "core/index.h"
#include "core/scenario/plan.h"

int plan_mutex_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                     struct cv_complaint *complaint);

/* Is that a setting of every mutex, and no parameter of the algorithm: clocks, quorums? */
bool plan_mutex_knows(const struct cv_plan *plan, const char *key, size_t length);

#endif
