// SPDX-License-Identifier: MIT
/* `conclave compare`: measures the problems of mutual exclusion that the texts name. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_PROBLEMS_H
#define CONCLAVE_CLI_STUDY_COMPARE_PROBLEMS_H

#include "core/error.h"
#include "show/comparison.h"

int compare_problems(struct cv_comparison *comparison, struct cv_complaint *complaint);

#endif
