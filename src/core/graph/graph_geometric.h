// SPDX-License-Identifier: MIT
/* Nodes at random points of the unit square, joined when they are close. */
#ifndef CONCLAVE_CORE_GRAPH_GRAPH_GEOMETRIC_H
#define CONCLAVE_CORE_GRAPH_GRAPH_GEOMETRIC_H

#include "core/graph/graph_build.h"

#define CV_PLANE_SIDE (UINT64_C(1) << 30) /* coordinates are 0..this */

struct cv_point {
    uint32_t x, y;
};

/* The points of the nodes, the first that are drawn. */
void cv_plane_points(struct cv_point *points, uint32_t nodes, struct cv_random *random);

/* Adds the edges of geometric:RADIUS. */
int graph_geometric_add(struct edge_list *edges, const char *radius, uint32_t nodes, struct cv_random *random,
                        struct cv_complaint *complaint);

#endif
