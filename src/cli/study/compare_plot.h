// SPDX-License-Identifier: MIT
/* `conclave compare --plot FILE`. */
#ifndef CONCLAVE_CLI_STUDY_COMPARE_PLOT_H
#define CONCLAVE_CLI_STUDY_COMPARE_PLOT_H

#include "show/comparison.h"
#include "show/output.h"

/* Refuses a name that is neither FILE.svg nor FILE.png, and a PNG without rsvg-convert. */
int compare_plot_check(const char *name, struct cv_complaint *complaint);
/* Draws into the open file, and commits it. */
int compare_plot(struct cv_output *output, const struct cv_comparison *comparison, struct cv_complaint *complaint);

#endif
