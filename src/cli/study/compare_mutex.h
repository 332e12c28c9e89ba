// SPDX-License-Identifier: MIT
/* `conclave compare`: measures mutual exclusion. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_MUTEX_H
#define CONCLAVE_CLI_STUDY_COMPARE_MUTEX_H

#include "cli/study/plugin.h"
#include "core/error.h"
#include "show/comparison.h"

int compare_mutex(struct cv_comparison *comparison, const struct plugin_list *own, struct cv_complaint *complaint);

#endif
