// SPDX-License-Identifier: MIT
/* A counterexample in a file: the words of the check, then a decision per line, in ids. */
#ifndef CONCLAVE_CLI_STUDY_REPLAY_FILE_H
#define CONCLAVE_CLI_STUDY_REPLAY_FILE_H

#include "check/replay.h"
#include "cli/study/check_report.h"

int replay_write(const char *path, const struct check_report *report, struct cv_complaint *complaint);

/* The contents of such a file. The trail names nodes of the scenario that the words describe. */
struct replay_file {
    struct check_request request;
    struct cv_scenario scenario;
    struct cv_trail trail;
    char *text;   /* the file */
    char **words; /* the words of the check, in the text */
};
int replay_load(const char *path, struct replay_file *file, struct cv_complaint *complaint);
void replay_unload(struct replay_file *file);

#endif
