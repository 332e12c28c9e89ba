// SPDX-License-Identifier: MIT
/*
 * A long run in stages. Between two of them all workers have come to the same time, and a checkpoint can be written:
 * the ranks send their records to the first, which writes the file. A run that goes on hears all of them from the
 * first.
 */
#ifndef CONCLAVE_SIM_SHARE_STAGES_H
#define CONCLAVE_SIM_SHARE_STAGES_H

#include "sim/share/run_saved.h"
#include "sim/share/share.h"

/* The workers of this rank. */
struct share_team {
    struct cv_sim *world;
    struct elsewhere elsewhere; /* what other ranks have */
    struct split split;
    struct batches batches;
    struct share_worker *workers;
    uint32_t count;
};

/* Plays the stages, each by `run`; begins where the checkpoint says. 0, CV_ENOMEM, CV_EFILE or CV_EINTERRUPTED. */
int stages_play(struct share_team *team, const struct cv_share *share, const volatile sig_atomic_t *interrupted,
                void (*run)(struct share_team *team, bool begin));

#endif
