// SPDX-License-Identifier: MIT
/* The options of `conclave run`: those of `conclave sim` that mean something between real processes. */
#ifndef CONCLAVE_CLI_STUDY_RUN_OPTIONS_H
#define CONCLAVE_CLI_STUDY_RUN_OPTIONS_H

#include "cli/study/sim_options.h"
#include "run/experiment.h"

struct run_request {
    struct sim_request sim;
    struct cv_words pauses; /* ID@T1..T2 */
    const char *algorithm;  /* as it was written */
    const char *hosts;      /* a file of hosts; NULL: all processes are here */
    const char *ssh;        /* how conclave is started there */
    bool place;             /* serve an experiment elsewhere */
    int argc;               /* the command line, for the hosts */
    char **argv;
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the request in any case. */
int run_read(int argc, char **argv, struct run_request *request, struct cv_complaint *complaint);
void run_free(struct run_request *request);

/*
 * Makes the scenario and what only an experiment has. Times are milliseconds. The pauses are to be freed. 0, CV_ENOMEM,
 * or CV_EINPUT and a complaint; free the scenario in any case.
 */
int run_build(const struct run_request *request, struct cv_scenario *scenario, struct cv_experiment_options *options,
              struct cv_complaint *complaint);

#endif
