// SPDX-License-Identifier: MIT
/* The parts of `conclave compare`: playing a line of options, and what is measured of it. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_COMMAND_H
#define CONCLAVE_CLI_STUDY_COMPARE_COMMAND_H

#include "cli/study/sim_command.h"
#include "show/comparison.h"
#include "show/output.h"

#define COMPARE_MOST_SIZES 12u
#define COMPARE_LEAST_NODES 3u
#define COMPARE_MOST_NODES 1000u

/* ---- compare_play.c ---- */

#define COMPARE_MOST_WORDS 40

/* One run of a line of options of `conclave sim`, so that the command that repeats it is the one that was run. */
struct compare_play {
    char *line; /* cut into words */
    char *words[COMPARE_MOST_WORDS];
    struct sim_request request;
    struct sim_result result;
};

/* 0 or an error with its complaint; CV_EINTERRUPTED once the user wants to stop. Free it in any case. */
int compare_play(struct compare_play *play, const char *line, struct cv_complaint *complaint);
void compare_play_free(struct compare_play *play);

/* Another row or demonstration, zeroed; NULL if memory is out. */
struct cv_measurement *compare_add_row(struct cv_comparison *comparison);
struct cv_demonstration *compare_add_demonstration(struct cv_comparison *comparison);
void compare_free(struct cv_comparison *comparison);

/* Takes the progress line off the terminal. */
void compare_progress_end(void);

/* Does the number agree with the formula's? */
bool compare_agrees(const struct cv_measurement *row);

/* ---- compare_mutex.c, compare_election.c, compare_synchronizers.c, compare_problems.c, compare_plot.c ---- */

int compare_mutex(struct cv_comparison *comparison, struct cv_complaint *complaint);
int compare_election(struct cv_comparison *comparison, struct cv_complaint *complaint);
int compare_synchronizers(struct cv_comparison *comparison, struct cv_complaint *complaint);
int compare_problems(struct cv_comparison *comparison, struct cv_complaint *complaint);

/* Refuses a name that is neither FILE.svg nor FILE.png, or a PNG that nothing here could draw. */
int compare_plot_check(const char *name, struct cv_complaint *complaint);
/* Draws into a file that is open, and finishes it. */
int compare_plot(struct cv_output *output, const struct cv_comparison *comparison, struct cv_complaint *complaint);

#endif
