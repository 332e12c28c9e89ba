// SPDX-License-Identifier: MIT
/* Runs lines of options and collects the measurements, for `conclave compare`. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_PLAY_H
#define CONCLAVE_CLI_STUDY_COMPARE_PLAY_H

#include "cli/study/plugin.h"
#include "cli/study/sim_command.h"
#include "show/comparison.h"

#define COMPARE_MOST_WORDS 40

/* One run, given as a line of options of `conclave sim`: the same line repeats it. */
struct compare_play {
    char *line;  /* split into words */
    char *first; /* the first word, if it is not in the line */
    char *words[COMPARE_MOST_WORDS];
    struct sim_request request;
    struct sim_result result;
};

/* 0 or an error with its complaint; CV_EINTERRUPTED once no more is wanted. Free it in any case. */
int compare_play(const struct cv_comparison *comparison, struct compare_play *play, const char *line,
                 struct cv_complaint *complaint);
/* The same for one of the user's algorithms, which the line does not name. Its run must keep its promises. */
int compare_play_own(const struct cv_comparison *comparison, struct compare_play *play, const char *path,
                     const char *line, struct cv_complaint *complaint);
void compare_play_free(struct compare_play *play);

/* Another row or demonstration, zeroed; NULL if memory is out. */
struct cv_measurement *compare_add_row(struct cv_comparison *comparison);
struct cv_demonstration *compare_add_demonstration(struct cv_comparison *comparison);
void compare_free(struct cv_comparison *comparison);

/* Does the measured number agree with the formula? */
bool compare_agrees(const struct cv_measurement *row);

#endif
