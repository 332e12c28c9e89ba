// SPDX-License-Identifier: MIT
/*
 * What `conclave explore` opens, read by the program before the page does: the words of a scenario, or the files of
 * --replay, which are a counterexample, a trace, or the recordings of live nodes.
 */
#ifndef CONCLAVE_CLI_STUDY_EXPLORE_FILES_H
#define CONCLAVE_CLI_STUDY_EXPLORE_FILES_H

#include "explore/explored_story.h"

struct explore_files {
    char **texts; /* what they hold */
    int count;
    bool recorded;          /* they are recordings */
    struct cv_story *story; /* as it was read, to see whether it can be */
};

/* Begins the scenario of these words, to see whether the explorer plays it. The same errors. */
int explore_words_try(int count, char **words, struct cv_complaint *complaint);

/* Reads them, and the story that they tell. 0, CV_ENOMEM, CV_EFILE or CV_EINPUT with a complaint. Free in any case. */
int explore_files_read(struct explore_files *files, int count, char **paths, struct cv_complaint *complaint);
void explore_files_free(struct explore_files *files);

#endif
