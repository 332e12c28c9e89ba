// SPDX-License-Identifier: MIT
/*
 * A place: a process on one machine of an experiment that has several. It starts the processes of its nodes, passes on
 * what the experiment tells them, counts what is open, and sends what they recorded. It ends, and all its processes
 * with it, when the experiment does, closes the connection or is silent for long.
 */
#ifndef CONCLAVE_RUN_PLACE_H
#define CONCLAVE_RUN_PLACE_H

#include "run/experiment.h"

/* A file that the command line names. */
struct cv_place_file {
    const char *name;
    const void *bytes;
    size_t size;
};

/* The command line of the experiment: by it every place makes the same scenario. */
struct cv_place_command {
    char **words; /* after a first one, which is skipped; then NULL */
    uint32_t word_count;
    const struct cv_place_file *files;
    uint32_t file_count;
};

/* Makes the scenario of a command line, and the options that only an experiment has. 0, or an error and a complaint. */
struct cv_place_builder {
    int (*build)(void *context, const struct cv_place_command *command, const struct cv_scenario **scenario,
                 struct cv_experiment_options *options, struct cv_complaint *complaint);
    void *context;
};

/* Serves the experiment at the other end until it is over. Returns the exit code. */
int cv_place_serve(int in, int out, const struct cv_place_builder *builder);

#endif
