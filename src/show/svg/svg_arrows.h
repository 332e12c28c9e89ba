// SPDX-License-Identifier: MIT
/* Messages, and what they say. */
#ifndef CONCLAVE_SHOW_SVG_SVG_ARROWS_H
#define CONCLAVE_SHOW_SVG_SVG_ARROWS_H

#include "show/svg/svg_parts.h"

void svg_arrows_draw(struct svg *svg);
/* What the arrows say, where there is room. After the marks. */
void svg_labels_draw(struct svg *svg);
/* Keeps labels away from there. */
void svg_take(struct svg *svg, double x, double y);

#endif
