// SPDX-License-Identifier: MIT
/* What the colours and marks mean. */
#ifndef CONCLAVE_SHOW_SVG_SVG_LEGEND_H
#define CONCLAVE_SHOW_SVG_SVG_LEGEND_H

#include "show/svg/svg_parts.h"

/* Draws kinds and marks; returns the y of the picture's end. */
double svg_legend_draw(struct svg *svg, double y);

#endif
