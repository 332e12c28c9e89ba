// SPDX-License-Identifier: MIT
/* The options of `conclave check`, and what is said about its result. */
#ifndef CONCLAVE_CLI_STUDY_CHECK_COMMAND_H
#define CONCLAVE_CLI_STUDY_CHECK_COMMAND_H

#include <stdio.h>

#include "check/check.h"
#include "check/replay.h"
#include "cli/study/sim_command.h"

struct check_request {
    struct sim_request group; /* the algorithm, the group and the pictures, as for `conclave sim` */
    struct cv_check_options options;
    const char *replay; /* the file that a counterexample goes to */
    char *command;      /* what repeats it */
    char **words;       /* the options that say what is checked, for that file */
    int word_count;
    bool help;
    const char *ask;
    bool has_inside;
    cv_id inside;
    struct cv_words cut;                     /* links that alone may be cut */
    uint64_t arrangement, arrangement_count; /* of ids: the one at hand, from 1 on, of so many */
    char ids[CV_CHECK_MOST_NODES * 11 + 1];  /* the one at hand, if it is not the first */
};

/* Reads the options; argv[0] is skipped. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the request in any case. */
int check_read(int argc, char **argv, struct check_request *request, struct cv_complaint *complaint);
void check_free(struct check_request *request);

/* Refuses what cannot be checked. */
int check_fits(const struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

/* Fills in who may call and who is inside, in this scenario. */
int check_settle(struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint);

/* ---- check_arrangements.c ---- */

/*
 * Checks every arrangement of ids, unless the request says which; up to the first in which something is wrong, which is
 * then the scenario. The result is that of all of them. 0, or as cv_check_run() and cv_plan_build().
 */
int check_arrangements(struct check_request *request, struct cv_scenario *scenario,
                       const struct cv_check_options *options, struct cv_check_result *result,
                       struct cv_complaint *complaint);

/* ---- check_report.c ---- */

struct check_report {
    const struct check_request *request;
    const struct cv_scenario *scenario;
    const struct cv_check_result *result;
};

void check_report_text(FILE *out, const struct check_report *report);
void check_report_json(FILE *out, const struct check_report *report);
const char *decision_name(enum cv_decision_type type);

/* ---- replay_file.c ---- */

/* A counterexample in a file: the words of the check, then a decision per line, in ids. */
int replay_write(const char *path, const struct check_report *report, struct cv_complaint *complaint);

/* What such a file holds; the trail is in nodes of the scenario that its words describe. */
struct replay_file {
    struct check_request request;
    struct cv_scenario scenario;
    struct cv_trail trail;
    char *text, **words;
};
int replay_load(const char *path, struct replay_file *file, struct cv_complaint *complaint);
void replay_unload(struct replay_file *file);

/* ---- replay.c ---- */

/* `conclave sim --replay FILE`: plays it and prints the result; the exit code. */
int sim_replay(const struct sim_request *request);

#endif
