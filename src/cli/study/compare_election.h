// SPDX-License-Identifier: MIT
/* `conclave compare`: measures elections. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H
#define CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H

#include "cli/study/plugin.h"
#include "core/error.h"
#include "show/comparison.h"

int compare_election(struct cv_comparison *comparison, const struct plugin_list *own, struct cv_complaint *complaint);

#endif
