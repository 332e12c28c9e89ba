// SPDX-License-Identifier: MIT
/* The measurements of `conclave compare` as tasks that threads and ranks share. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_TASKS_H
#define CONCLAVE_CLI_STUDY_COMPARE_TASKS_H

#include "ranks/ranks.h"
#include "show/comparison.h"

/* One measurement, or a few that belong together. */
struct compare_task {
    /* Adds its rows or its demonstration. It runs in any thread, and knows of no other task. */
    int (*measure)(struct cv_comparison *comparison, const struct compare_task *task, struct cv_complaint *complaint);
    const void *subject; /* a row of the measurer's own table, or an algorithm */
    const char *path;    /* of one of the user's algorithms; NULL: it is built in */
    uint32_t nodes;
    bool all; /* all nodes call or ask; otherwise one does */
};

struct compare_tasks {
    struct compare_task *list;
    size_t count, room;
};

/* 0 or CV_ENOMEM. */
int compare_add_task(struct compare_tasks *tasks, const struct compare_task *task);

/*
 * Measures all of them; the first rank gets the rows, in the order of the tasks. 0 or an error with its complaint;
 * CV_EINTERRUPTED once the user wants to stop, with what was measured until then.
 */
int compare_measure(struct cv_comparison *comparison, const struct compare_tasks *tasks, uint32_t threads,
                    struct cv_ranks *ranks, struct cv_complaint *complaint);

#endif
