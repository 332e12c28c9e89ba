// SPDX-License-Identifier: MIT
/*
 * What the first worker knows of all: whether they wait, for when, and what they have sent and taken. When all wait and
 * nothing is on its way, the run is over, or they leap over the time until the first of their next events.
 */
#ifndef CONCLAVE_SIM_SHARE_STANDING_H
#define CONCLAVE_SIM_SHARE_STANDING_H

#include "sim/share/worker.h"

#define STANDING_PATIENCE 64u /* promises that come to the first worker while it waits, before it asks all */

/* A worker that waits tells the first one if it has nothing to do before the pause; that one looks around. */
void standing_tell(struct share_worker *worker);

/* The first asks; another one has told; nothing comes before that time, but for answers to what this worker sends. */
void standing_answer(struct share_worker *worker, uint64_t probe);
void standing_hear(struct share_worker *first, const struct batch_head *head);
void standing_leap(struct share_worker *worker, uint64_t quiet);

#endif
