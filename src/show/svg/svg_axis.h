// SPDX-License-Identifier: MIT
/* The axis of time: where an instant stands. */
#ifndef CONCLAVE_SHOW_SVG_SVG_AXIS_H
#define CONCLAVE_SHOW_SVG_SVG_AXIS_H

#include "show/svg/svg_parts.h"

/* 0, CV_ENOMEM, or CV_EINPUT if there are too many instants. Sets svg->right. */
int svg_axis_make(struct svg *svg);
void svg_axis_free(struct svg *svg);
double svg_axis_x(const struct svg *svg, uint64_t time);
/* The least distance between two successive instants. */
double svg_axis_unit(const struct svg *svg);
/* The number of instants at which anything happens. */
size_t svg_axis_instants(const struct svg *svg);
void svg_axis_draw(struct svg *svg);

#endif
