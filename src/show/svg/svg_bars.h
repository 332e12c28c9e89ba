// SPDX-License-Identifier: MIT
/* Mutual exclusion: who waits, who is inside, and where views begin. */
#ifndef CONCLAVE_SHOW_SVG_SVG_BARS_H
#define CONCLAVE_SHOW_SVG_SVG_BARS_H

#include "show/svg/svg_parts.h"

/* Mutual exclusion: waiting and being inside as bars along the lines; and where views begin. */
void svg_bars_draw(struct svg *svg);
/* The fences, over the arrows. */
void svg_fences_draw(struct svg *svg);
/* Does a view begin in this run? */
bool svg_has_views(const struct svg *svg);

#endif
