// SPDX-License-Identifier: MIT
/* The options of `conclave check`. */
#ifndef CONCLAVE_CLI_STUDY_CHECK_OPTIONS_H
#define CONCLAVE_CLI_STUDY_CHECK_OPTIONS_H

#include "check/check.h"
#include "cli/study/sim_options.h"
#include "saved/checkpoint.h"

struct check_request {
    struct sim_request group; /* the algorithm, the group and the pictures, as for `conclave sim` */
    struct cv_check_options options;
    const char *replay; /* the file that a counterexample goes to */
    char *command;      /* the command that repeats the check */
    char **words;       /* the options that say what is checked, for the file of a counterexample */
    int word_count;
    bool help;                              /* the user asks for help, and nothing else */
    const char *ask;                        /* the nodes that may want to enter; NULL: all */
    bool has_inside;                        /* `inside` is given */
    cv_id inside;                           /* the node that is inside from the beginning */
    struct cv_checkpoint checkpoint;        /* --checkpoint, --every and --resume */
    bool has_every;                         /* --every is given */
    bool has_memory;                        /* --memory is given */
    char stopped[64];                       /* why a check before the one that goes on was not complete */
    char *identity;                         /* what is checked: a line for each option that counts */
    char *go_on;                            /* the command that goes on from the checkpoint */
    struct cv_words cut;                    /* the only links that may be cut */
    uint64_t arrangement;                   /* the number of the current arrangement of ids, from 1 on */
    uint64_t arrangement_count;             /* the number of arrangements */
    char ids[CV_CHECK_MOST_NODES * 11 + 1]; /* the current arrangement, if it is not the first */
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the request in any case. */
int check_read(int argc, char **argv, struct check_request *request, struct cv_complaint *complaint);
void check_free(struct check_request *request);

/* Refuses what cannot be checked. */
int check_fits(const struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

/*
 * Opens the checkpoint to go on from, if there is one. Of these ranks the first does; NULL: there are none. 0,
 * CV_ENOMEM, or CV_EINPUT and a complaint.
 */
int check_resume(struct check_request *request, const struct cv_scenario *scenario, const struct cv_ranks *ranks,
                 struct cv_complaint *complaint);

/* Fills in the nodes that --ask, --inside, --cut and --start name, by the ids of this scenario. */
int check_settle(struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

#endif
