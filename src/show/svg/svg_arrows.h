// SPDX-License-Identifier: MIT
/* Messages, and what they say. */
#ifndef CONCLAVE_SHOW_SVG_SVG_ARROWS_H
#define CONCLAVE_SHOW_SVG_SVG_ARROWS_H

#include "show/svg/svg_parts.h"

void svg_arrows_draw(struct svg *svg);
/* Draws labels where there is room. Call it after the marks are drawn. */
void svg_labels_draw(struct svg *svg);
/* Marks a place as taken: no label goes there. */
void svg_take(struct svg *svg, double x, double y);

#endif
