// SPDX-License-Identifier: MIT
/*
 * One run, shared out among the threads of a process and the ranks of a job. The result is the same, whoever has
 * computed which part of it.
 */
#ifndef CONCLAVE_SIM_SHARE_SHARE_H
#define CONCLAVE_SIM_SHARE_SHARE_H

#include "ranks/ranks.h"
#include "saved/checkpoint.h"
#include "sim/sim.h"

struct cv_share {
    struct cv_ranks *ranks;
    uint32_t threads; /* of each rank */

    /* Where to go on, and what to write now and then; NULL: nothing. The first rank has opened it. */
    struct cv_checkpoint *checkpoint;
};

/* What a worker did. */
struct cv_share_part {
    uint64_t nodes;
    uint64_t messages;   /* that it delivered */
    uint64_t waiting_us; /* for other workers */
};

struct cv_share_report {
    uint32_t workers;            /* 1: the run was not shared */
    struct cv_share_part *parts; /* by worker; to be freed */
    uint64_t seconds_us;         /* the time of the run */
};

/*
 * Why this run is not shared, as the end of a sentence, or "" if it is too small to be; NULL: it is. `observed`:
 * somebody listens to its events.
 */
const char *cv_share_obstacle(const struct cv_scenario *scenario, bool observed);

/*
 * Plays the scenario. All ranks must call it if the run can be shared; otherwise the first one. The first gets the
 * result, as of cv_sim_new() and cv_sim_run(); the others get `*sim` == NULL. 0, CV_ENOMEM, CV_EFILE: the checkpoint is
 * of another run, or CV_EINTERRUPTED: the user ended a run of several ranks, or one with a checkpoint, which is
 * written.
 */
int cv_share_run(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options,
                 const struct cv_share *share, struct cv_run *run, struct cv_share_report *report);

#endif
