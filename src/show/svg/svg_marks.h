// SPDX-License-Identifier: MIT
/* Lifelines, partitions, and what happens at a node. */
#ifndef CONCLAVE_SHOW_SVG_SVG_MARKS_H
#define CONCLAVE_SHOW_SVG_SVG_MARKS_H

#include "show/svg/svg_parts.h"

void svg_partitions_draw(struct svg *svg);
void svg_lines_draw(struct svg *svg);
void svg_marks_draw(struct svg *svg);
/* What each step changed in the state of its node. */
void svg_states_draw(struct svg *svg);
/* One mark of the legend. */
void svg_mark_draw(struct svg *svg, enum svg_mark mark, double x, double y);

#endif
