// SPDX-License-Identifier: MIT
/* Reads a history step by step: what began a step, and what the node did and sent at that instant. */
#ifndef CONCLAVE_SHOW_HISTORY_STEP_H
#define CONCLAVE_SHOW_HISTORY_STEP_H

#include "show/history.h"

/*
 * Events first .. end-1. The first is what began it. Effects and sends of its node follow; a loss among them is
 * that of the send before it. Losses at one node that follow each other are one step without a doer.
 */
struct cv_step {
    size_t first, end;
};

/* The step after this one; begin with {0, 0}. */
bool cv_step_next(const struct cv_history *history, struct cv_step *step);

/* The event of that type among the step's; NULL if there is none. */
const struct cv_event *cv_step_find(const struct cv_history *history, const struct cv_step *step,
                                    enum cv_event_type type);

/* Does a timer fire in this step without any visible effect? Pictures leave such steps out. */
bool cv_step_is_idle_timeout(const struct cv_history *history, size_t index);

#endif
