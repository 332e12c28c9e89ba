// SPDX-License-Identifier: MIT
/* `conclave compare`: measures elections. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H
#define CONCLAVE_CLI_STUDY_COMPARE_ELECTION_H

#include "core/error.h"
#include "show/comparison.h"

int compare_election(struct cv_comparison *comparison, struct cv_complaint *complaint);

#endif
