// SPDX-License-Identifier: MIT
/* A counterexample in a file: the words of the check, then a decision per line, in ids. */
#ifndef CONCLAVE_CLI_STUDY_REPLAY_FILE_H
#define CONCLAVE_CLI_STUDY_REPLAY_FILE_H

#include "check/replay.h"
#include "cli/study/check_report.h"

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

#endif
