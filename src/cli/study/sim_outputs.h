// SPDX-License-Identifier: MIT
/* The pictures and traces a run leaves behind. */
#ifndef CONCLAVE_CLI_STUDY_SIM_OUTPUTS_H
#define CONCLAVE_CLI_STUDY_SIM_OUTPUTS_H

#include "cli/study/sim_command.h"

struct sim_outputs {
    struct cv_observer observer; /* what the simulator tells; empty if nobody listens */
    struct sim_listeners *listeners;
};

/* Opens what the request asks for, before the run: a file that cannot be written is told at once. */
int sim_outputs_open(struct sim_outputs *outputs, const struct sim_request *request, const struct cv_scenario *scenario,
                     struct cv_complaint *complaint);
/* Draws and completes; the files get their names now. */
int sim_outputs_finish(struct sim_outputs *outputs, const struct sim_result *result, struct cv_complaint *complaint);
/* Throws away what was not completed. */
void sim_outputs_close(struct sim_outputs *outputs);

#endif
