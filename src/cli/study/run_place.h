// SPDX-License-Identifier: MIT
/* `conclave run` on several machines: the hosts of an experiment, and what serves on each of them. */
#ifndef CONCLAVE_CLI_STUDY_RUN_PLACE_H
#define CONCLAVE_CLI_STUDY_RUN_PLACE_H

#include "cli/study/run_options.h"
#include "run/hosts.h"
#include "run/place.h"
#include "run/rank_places.h"

/* The machines of a run, and the command line that they get. */
struct run_places {
    struct cv_rank_places ranks; /* under mpirun */
    struct cv_hosts hosts;
    struct cv_place_command command;
    struct cv_place_file files[CV_MOST_PLAN_FILES + 2];
    char *plugins[2]; /* what those files hold that are algorithms */
};

/* `conclave run --place`: serves an experiment elsewhere, over these files. Returns the exit code. */
int run_place_serve(int in, int out);

/*
 * Under mpirun, meets the other ranks. Returns true, with an exit code, if this process has served the experiment of
 * another, or if that failed.
 */
bool run_ranks_serve(struct run_places *places, int *code);

/* Starts conclave on all hosts, if --hosts names any. 0 or an error and a complaint; end it in any case. */
int run_places_start(struct run_places *places, const struct run_request *request,
                     struct cv_experiment_options *options, struct cv_complaint *complaint);
void run_places_end(struct run_places *places);

#endif
