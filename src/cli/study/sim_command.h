// SPDX-License-Identifier: MIT
/* The options of `conclave sim`, and running what they ask for. */
#ifndef CONCLAVE_CLI_STUDY_SIM_COMMAND_H
#define CONCLAVE_CLI_STUDY_SIM_COMMAND_H

#include "core/scenario/plan.h"
#include "property/property.h"
#include "sim/sim.h"

struct sim_request {
    struct cv_plan plan;
    char *graph_text, *quorums_text, *clusters_text;
    const char *election;
    const char *app;
    const char *trace, *svg, *shiviz;
    const char *replay; /* a counterexample of the checker, in the place of an algorithm */
    char *command;      /* what repeats it, but for the seed */
    uint64_t runs;      /* 0: one, told in full */
    bool json, diagram, transcript, timing, help;
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM or CV_EINPUT. Free the request in any case. */
int sim_read(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint);
void sim_free(struct sim_request *request);

/* Runs it and prints the result; the exit code. */
int sim_run_once(const struct sim_request *request);
int sim_run_many(const struct sim_request *request);

/* The command that repeats the request with that seed, to be freed; NULL if memory is out. */
char *sim_command(const struct sim_request *request, uint64_t seed);

/* One simulation with the seed of the plan, judged. Free the scenario and the simulation. */
struct sim_result {
    struct cv_scenario scenario;
    struct cv_sim *sim;
    struct cv_run run;
    struct cv_judgement judgement;
    double seconds;
};
int sim_simulate(const struct cv_plan *plan, const struct cv_sim_options *options, struct sim_result *result,
                 struct cv_complaint *complaint);
void sim_result_free(struct sim_result *result);

#endif
