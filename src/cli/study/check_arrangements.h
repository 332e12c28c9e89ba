// SPDX-License-Identifier: MIT
/* One check for every arrangement of ids. */
#ifndef CONCLAVE_CLI_STUDY_CHECK_ARRANGEMENTS_H
#define CONCLAVE_CLI_STUDY_CHECK_ARRANGEMENTS_H

#include "cli/study/check_options.h"

/*
 * Checks every arrangement of ids, unless the request says which. It stops at the first in which something is wrong,
 * which is then the scenario. The result is that of all of them. 0, or as cv_check_run() and cv_plan_build().
 */
int check_arrangements(struct check_request *request, struct cv_scenario *scenario,
                       const struct cv_check_options *options, struct cv_check_result *result,
                       struct cv_complaint *complaint);

#endif
