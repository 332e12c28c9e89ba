// SPDX-License-Identifier: MIT
/* A summary of a run that is too large to draw: messages over time by kind, and what each node did. */
#ifndef CONCLAVE_SHOW_TEXT_SUMMARY_H
#define CONCLAVE_SHOW_TEXT_SUMMARY_H

#include <stdio.h>

#include "show/history.h"

/* 0 or CV_ENOMEM. */
int cv_summary_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, unsigned width,
                     bool colour);

#endif
