// SPDX-License-Identifier: MIT
/* The options of `conclave sim`. */
#ifndef CONCLAVE_CLI_STUDY_SIM_OPTIONS_H
#define CONCLAVE_CLI_STUDY_SIM_OPTIONS_H

#include "cli/options.h"
#include "core/scenario/plan_inputs.h"
#include "saved/checkpoint.h"

struct sim_request {
    struct cv_plan plan;
    struct cv_plan_inputs inputs;
    const char *trace;               /* the file for events */
    const char *svg;                 /* the file for a space-time diagram */
    const char *shiviz;              /* the file for a log that ShiViz reads */
    const char *replay;              /* a file with a counterexample of the checker, instead of an algorithm */
    struct cv_words words;           /* the algorithm, and the options that say what is run */
    const char *replay_text;         /* what that file holds, when it is played */
    const char *subject;             /* an option that says what is run; NULL: none is given */
    char *command;                   /* the command that repeats the run, without the seed */
    struct cv_checkpoint checkpoint; /* --checkpoint, --every and --resume */
    char *identity;                  /* what is run: a line for each option that counts */
    char *go_on;                     /* the command that goes on from the checkpoint, if there is one */
    bool has_every;                  /* --every is given */
    uint64_t runs;                   /* 0: one run, reported in full */
    uint32_t threads;                /* 0: not given */
    bool json;
    bool diagram;
    bool transcript;
    bool states;      /* show what each step changes in them */
    bool last_states; /* show those at the end: for a counterexample */
    bool timing;
    bool help; /* the user asks for help, and nothing else */
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the request in any case. */
int sim_read(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint);
void sim_free(struct sim_request *request);

/* For commands with other options that fill in the same request: reads the algorithm, the only word. */
int sim_read_algorithm(struct sim_request *request, const char *command, int count, char **words,
                       struct cv_complaint *complaint);
/* Then reads the files and finds the algorithms that the options name. */
int sim_settle(struct sim_request *request, struct cv_complaint *complaint);

/* Does the option of that name, without dashes, write a file? */
bool sim_writes_file(const char *name, size_t length);

#endif
