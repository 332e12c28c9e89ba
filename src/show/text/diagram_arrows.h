// SPDX-License-Identifier: MIT
/* Draws the messages of a diagram. */
#ifndef CONCLAVE_SHOW_TEXT_DIAGRAM_ARROWS_H
#define CONCLAVE_SHOW_TEXT_DIAGRAM_ARROWS_H

#include "show/text/diagram_draw.h"

/* A row of arrows, over the lifelines. */
void diagram_draw_arrows(struct diagram_drawing *drawing, const struct diagram_row *row);

#endif
