// SPDX-License-Identifier: MIT
/* Where the nodes of a network stand in a picture: round a circle, or as the trees that a run has made of them. */
#ifndef CONCLAVE_SHOW_SVG_SVG_LAYOUT_H
#define CONCLAVE_SHOW_SVG_SVG_LAYOUT_H

#include "show/svg/svg_parts.h"

struct svg_layout {
    struct svg_point *at; /* per node */
    double width, height;
    bool trees; /* parents above their children */
};

/* In node order, clockwise from the top. */
void svg_layout_circle(struct svg_layout *layout, uint32_t nodes);

/*
 * Puts parents above their children, tree beside tree. A root is its own parent, or has CV_NOBODY. If a tree is too
 * deep or parents form a cycle, it uses the circle and returns false.
 */
bool svg_layout_trees(struct svg_layout *layout, const cv_node *parents, uint32_t nodes);

#endif
