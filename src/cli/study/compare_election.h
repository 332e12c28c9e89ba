// SPDX-License-Identifier: MIT
/* `conclave compare`: measures elections. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H
#define CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H

#include "cli/study/compare_tasks.h"
#include "cli/study/plugin.h"

/* Adds what is to be measured. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int compare_election(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                     struct cv_complaint *complaint);

#endif
