// SPDX-License-Identifier: MIT
/* The options of `conclave check`. */
#ifndef CONCLAVE_CLI_STUDY_CHECK_OPTIONS_H
#define CONCLAVE_CLI_STUDY_CHECK_OPTIONS_H

#include "check/check.h"
#include "cli/study/sim_options.h"

struct check_request {
    struct sim_request group; /* the algorithm, the group and the pictures, as for `conclave sim` */
    struct cv_check_options options;
    const char *replay; /* the file that a counterexample goes to */
    char *command;      /* what repeats the check */
    char **words;       /* the options that say what is checked, for the file of a counterexample */
    int word_count;
    bool help;                              /* is asked for, and nothing else */
    const char *ask;                        /* who may want to enter; NULL: everybody */
    bool has_inside;                        /* `inside` is given */
    cv_id inside;                           /* who is inside from the beginning */
    struct cv_words cut;                    /* links that alone may be cut */
    uint64_t arrangement;                   /* of ids: the number of the one at hand, from 1 on */
    uint64_t arrangement_count;             /* how many there are */
    char ids[CV_CHECK_MOST_NODES * 11 + 1]; /* the arrangement at hand, if it is not the first */
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the request in any case. */
int check_read(int argc, char **argv, struct check_request *request, struct cv_complaint *complaint);
void check_free(struct check_request *request);

/* Refuses what cannot be checked. */
int check_fits(const struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

/* Fills in who may call and who is inside, in this scenario. */
int check_settle(struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

#endif
