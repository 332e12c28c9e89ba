// SPDX-License-Identifier: MIT
/* A history, step by step: what a step began with, what it made the node do and send, all of it at one instant. */
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

/*
 * Does a timer fire there without any consequence that shows? An algorithm keeps its books so; pictures leave it out.
 */
bool cv_step_is_idle_timeout(const struct cv_history *history, size_t index);

#endif
