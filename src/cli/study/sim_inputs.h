// SPDX-License-Identifier: MIT
/* What the options of a simulation name: other algorithms, and files that hold graphs, voting sets and clusters. */
#ifndef CONCLAVE_CLI_STUDY_SIM_INPUTS_H
#define CONCLAVE_CLI_STUDY_SIM_INPUTS_H

#include "cli/study/sim_options.h"

/* Finds and reads them for the plan. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. */
int sim_read_inputs(struct sim_request *request, struct cv_complaint *complaint);

#endif
