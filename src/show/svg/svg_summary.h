// SPDX-License-Identifier: MIT
/* A run too large to be drawn: its messages over time. */
#ifndef CONCLAVE_SHOW_SVG_SVG_SUMMARY_H
#define CONCLAVE_SHOW_SVG_SVG_SUMMARY_H

#include "show/svg/svg_parts.h"

void svg_summary_draw(struct svg *svg);

#endif
