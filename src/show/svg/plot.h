// SPDX-License-Identifier: MIT
/*
 * Messages against the size of the group, or against time, on logarithmic axes: a line per algorithm, its formula
 * beside it.
 */
#ifndef CONCLAVE_SHOW_SVG_PLOT_H
#define CONCLAVE_SHOW_SVG_PLOT_H

#include "show/comparison.h"

/* Draws the two plotted sections of a comparison side by side as SVG. 0 or CV_ENOMEM. */
int cv_plot_svg(FILE *out, const struct cv_comparison *comparison);

#endif
