// SPDX-License-Identifier: MIT
/* The faults of a plan. */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_FAULTS_H
#define CONCLAVE_CORE_SCENARIO_PLAN_FAULTS_H

#include "core/index.h"
#include "core/scenario/plan.h"

int plan_faults_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                      struct cv_complaint *complaint);

#endif
