// SPDX-License-Identifier: MIT
/* `conclave compare`: measures mutual exclusion. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_MUTEX_H
#define CONCLAVE_CLI_STUDY_COMPARE_MUTEX_H

#include "cli/study/compare_tasks.h"
#include "cli/study/plugin.h"

/* Adds what is to be measured. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int compare_mutex(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                  struct cv_complaint *complaint);

#endif
