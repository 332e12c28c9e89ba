// SPDX-License-Identifier: MIT
/* A run told as a story: one numbered line per step, what was heard, what it led to, what was sent to whom. */
#ifndef CONCLAVE_SHOW_TEXT_TRANSCRIPT_H
#define CONCLAVE_SHOW_TEXT_TRANSCRIPT_H

#include <stdio.h>

#include "show/history.h"

/* 0 or CV_ENOMEM. */
int cv_transcript_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history);

#endif
