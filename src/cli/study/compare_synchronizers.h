// SPDX-License-Identifier: MIT
/* `conclave compare`: measures synchronizers, and shortest paths without them. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_SYNCHRONIZERS_H
#define CONCLAVE_CLI_STUDY_COMPARE_SYNCHRONIZERS_H

#include "core/error.h"
#include "show/comparison.h"

int compare_synchronizers(struct cv_comparison *comparison, struct cv_complaint *complaint);

#endif
