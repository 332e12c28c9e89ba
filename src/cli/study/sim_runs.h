// SPDX-License-Identifier: MIT
/* `conclave sim --runs R`: runs many seeds and reports the distribution. */
#ifndef CONCLAVE_CLI_STUDY_SIM_RUNS_H
#define CONCLAVE_CLI_STUDY_SIM_RUNS_H

#include "cli/study/sim_options.h"
#include "ranks/ranks.h"

/* Runs them and prints the result; returns the exit code. */
int sim_run_many(struct sim_request *request, struct cv_ranks *ranks);

#endif
