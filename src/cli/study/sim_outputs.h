// SPDX-License-Identifier: MIT
/* The pictures and traces of a run. */
#ifndef CONCLAVE_CLI_STUDY_SIM_OUTPUTS_H
#define CONCLAVE_CLI_STUDY_SIM_OUTPUTS_H

#include "cli/study/sim_command.h"

struct sim_outputs {
    struct cv_observer observer; /* for the simulator; empty if there is no output */
    struct sim_listeners *listeners;
};

/* Does somebody want to see the events of the run? */
bool sim_outputs_wanted(const struct sim_request *request);

/* Opens the outputs before the run, so that a file that cannot be written is refused at once. */
int sim_outputs_open(struct sim_outputs *outputs, const struct sim_request *request, const struct cv_scenario *scenario,
                     struct cv_complaint *complaint);
/* Draws the pictures and commits all files. */
int sim_outputs_finish(struct sim_outputs *outputs, const struct sim_result *result, struct cv_complaint *complaint);
/* Frees everything, and removes files that are not committed. */
void sim_outputs_close(struct sim_outputs *outputs);

#endif
