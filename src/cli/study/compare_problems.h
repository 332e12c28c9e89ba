// SPDX-License-Identifier: MIT
/* `conclave compare`: measures the problems of mutual exclusion that the texts name. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_PROBLEMS_H
#define CONCLAVE_CLI_STUDY_COMPARE_PROBLEMS_H

#include "cli/study/compare_tasks.h"

/* Adds what is to be measured. 0 or CV_ENOMEM. */
int compare_problems(struct compare_tasks *tasks);

#endif
