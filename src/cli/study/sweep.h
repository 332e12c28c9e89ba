// SPDX-License-Identifier: MIT
/*
 * Many tasks that do not depend on each other: runs of a simulation, measurements. The threads of all ranks share them.
 * Whoever is free gets the next few, so a task that takes long holds up no other. The first rank takes the results in
 * the order of the tasks: what it prints does not depend on who computed what.
 */
#ifndef CONCLAVE_CLI_STUDY_SWEEP_H
#define CONCLAVE_CLI_STUDY_SWEEP_H

#include <signal.h>

#include "cli/study/sweep_saved.h"
#include "ranks/ranks.h"

#define SWEEP_MOST_THREADS 256u

/* The row of --threads for a table of options; `place` is a uint32_t. */
#define SWEEP_THREADS_ROW(place, text)                                                                                 \
    {                                                                                                                  \
        "threads", "T", OPTION_NUMBER32, place, .help = text, .least = 1, .most = SWEEP_MOST_THREADS, .how = true      \
    }

struct sweep {
    uint64_t count;   /* tasks 0, 1, … */
    uint32_t threads; /* of each rank; 0: 1 */
    const char *unit; /* "runs" */
    void *context;
    /* Computes a task, in any thread, and puts its result. `halted` becomes true when the result is not wanted. */
    void (*compute)(void *context, uint64_t task, const volatile sig_atomic_t *halted, struct sweep_bytes *result);
    /* Takes a result, in the first rank. False: no further result is wanted. */
    bool (*take)(void *context, uint64_t task, struct sweep_reader *result);
    /* Where the first rank goes on, and writes checkpoints; NULL: at the beginning, and it writes none. */
    struct sweep_saved *saved;
};

/* Returns when all results are taken, when no more are wanted, or when the user wants to stop. 0 or CV_ENOMEM. */
int sweep_run(const struct sweep *sweep, struct cv_ranks *ranks);

/* How many tasks are computed at once. */
uint64_t sweep_width(const struct sweep *sweep, const struct cv_ranks *ranks);

#endif
