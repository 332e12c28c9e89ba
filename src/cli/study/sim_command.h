// SPDX-License-Identifier: MIT
/* Runs a simulation as the options of `conclave sim` say. */
#ifndef CONCLAVE_CLI_STUDY_SIM_COMMAND_H
#define CONCLAVE_CLI_STUDY_SIM_COMMAND_H

#include "cli/study/sim_options.h"
#include "property/property.h"
#include "ranks/ranks.h"
#include "show/text/report.h"
#include "sim/sim.h"

/*
 * Runs it and prints the result; returns the exit code. All ranks call it, and share the run if it can be shared. The
 * first rank prints.
 */
int sim_run_once(struct sim_request *request, struct cv_ranks *ranks);

/* The command that repeats the request with that seed. Free it. */
char *sim_command(const struct sim_request *request, uint64_t seed);

/* Simulates once with the seed of the plan, and judges. Free the result. */
struct sim_result {
    struct cv_scenario scenario;
    struct cv_sim *sim;
    struct cv_run run;
    struct cv_judgement judgement;
    double seconds;
    struct cv_report_part *parts; /* by worker, if the run was shared; otherwise NULL */
    uint32_t part_count;
};
int sim_simulate(const struct cv_plan *plan, const struct cv_sim_options *options, struct sim_result *result,
                 struct cv_complaint *complaint);
void sim_result_free(struct sim_result *result);

#endif
