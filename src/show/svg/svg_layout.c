// SPDX-License-Identifier: MIT
#include "show/svg/svg_layout.h"

#include <math.h>

#define SMALLEST_RADIUS 80.0
#define BESIDE 46.0 /* from one leaf to the next, */
#define BELOW 60.0  /* from parent to child */
#define DEEPEST 12u

void svg_layout_circle(struct svg_layout *layout, uint32_t nodes)
{
    const double wanted = 7.0 * nodes, radius = wanted > SMALLEST_RADIUS ? wanted : SMALLEST_RADIUS;
    for (uint32_t node = 0; node < nodes; node++) {
        const double angle = -1.5707963267948966 + 6.283185307179586 * node / nodes;
        layout->at[node] = (struct svg_point){radius + radius * cos(angle), radius + radius * sin(angle)};
    }
    layout->width = layout->height = 2 * radius;
    layout->trees = false;
}

static bool is_root(const cv_node *parents, cv_node node)
{
    return parents[node] == CV_NOBODY || parents[node] == node;
}

/* The depth of a node; DEEPEST if it is deeper or in a cycle. */
static uint32_t depth_of(const cv_node *parents, cv_node node)
{
    uint32_t depth = 0;
    for (; !is_root(parents, node) && depth < DEEPEST; depth++)
        node = parents[node];
    return depth;
}

/* Puts a node above the middle of its children, and a leaf right of the last one. Returns the next free column. */
static double place(struct svg_layout *layout, const cv_node *parents, uint32_t nodes, cv_node root, double column)
{
    const double first = column;
    double sum = 0;
    uint32_t children = 0;
    for (cv_node child = 0; child < nodes; child++)
        if (child != root && parents[child] == root) {
            column = place(layout, parents, nodes, child, column);
            sum += layout->at[child].x;
            children++;
        }
    layout->at[root].x = children ? sum / children : first;
    layout->at[root].y = depth_of(parents, root) * BELOW;
    return children ? column : column + BESIDE;
}

bool svg_layout_trees(struct svg_layout *layout, const cv_node *parents, uint32_t nodes)
{
    uint32_t deepest = 0;
    for (cv_node node = 0; node < nodes; node++) {
        const uint32_t depth = depth_of(parents, node);
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest == 0 || deepest == DEEPEST) {
        svg_layout_circle(layout, nodes);
        return false;
    }
    double column = 0;
    for (cv_node node = 0; node < nodes; node++)
        if (is_root(parents, node))
            column = place(layout, parents, nodes, node, column) + BESIDE / 2;
    layout->width = column - 1.5 * BESIDE;
    layout->height = deepest * BELOW;
    layout->trees = true;
    return true;
}
