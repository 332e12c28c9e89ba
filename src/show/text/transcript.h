// SPDX-License-Identifier: MIT
/* Prints a run step by step: one numbered line per step with what was received, its effects, and what was sent. */
#ifndef CONCLAVE_SHOW_TEXT_TRANSCRIPT_H
#define CONCLAVE_SHOW_TEXT_TRANSCRIPT_H

#include <stdio.h>

#include "show/history.h"

/* With states: under each step what it changed in the node's state, if the history has watched. 0 or CV_ENOMEM. */
int cv_transcript_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, bool states);

#endif
