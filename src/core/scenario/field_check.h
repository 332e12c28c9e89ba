// SPDX-License-Identifier: MIT
/* Is an algorithm's table of fields what it says? Every byte of every state has one name. */
#ifndef CONCLAVE_CORE_SCENARIO_FIELD_CHECK_H
#define CONCLAVE_CORE_SCENARIO_FIELD_CHECK_H

#include "core/error.h"
#include "core/scenario/scenario.h"

/* The tables of the state and of each message by themselves. 0, or CV_EINPUT and what is wrong with which field. */
int cv_fields_check_tables(const char *file, const struct cv_algorithm *algorithm, struct cv_complaint *complaint);

/*
 * The states that the nodes have in this scenario; of many nodes the first. A table that names nothing is not wrong. 0,
 * CV_ENOMEM, or CV_EINPUT and which byte was forgotten or named twice.
 */
int cv_fields_check_states(const struct cv_scenario *scenario, struct cv_complaint *complaint);

#endif
