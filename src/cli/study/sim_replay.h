// SPDX-License-Identifier: MIT
/* `conclave sim --replay FILE`: plays a counterexample of the checker. */
#ifndef CONCLAVE_CLI_STUDY_SIM_REPLAY_H
#define CONCLAVE_CLI_STUDY_SIM_REPLAY_H

#include "cli/study/sim_options.h"

/* Plays it and prints the result; returns the exit code. */
int sim_replay(const struct sim_request *request);

#endif
