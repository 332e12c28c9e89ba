// SPDX-License-Identifier: MIT
/* The graph that an algorithm runs on. */
#ifndef CONCLAVE_SHOW_SVG_SVG_NETWORK_H
#define CONCLAVE_SHOW_SVG_SVG_NETWORK_H

#include "show/svg/svg_parts.h"

/* The graph, for algorithms that run on one; returns where the picture ends. */
double svg_network_draw(struct svg *svg, double y);

#endif
