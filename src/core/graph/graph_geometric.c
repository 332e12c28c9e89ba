// SPDX-License-Identifier: MIT
/*
 * Random geometric graphs. Points have whole coordinates 0..2^30 and distances are compared squared, so a seed
 * means the same graph on every machine. A grid of cells at least as wide as the radius finds the near pairs:
 * they lie in one cell or in two that touch.
 */
#include "core/graph/graph_geometric.h"

#include "core/graph/graph_build.h"
#include "core/parse.h"

#include <stdlib.h>

#define SIDE CV_PLANE_SIDE

struct plane {
    struct cv_point *points;
    cv_node *order;   /* the nodes, cell by cell */
    uint32_t *cells;  /* those of cell c are order[cells[c] .. cells[c+1]) */
    uint32_t *parent; /* components, see component_join */
    uint64_t across;  /* cells in a row of the grid */
    uint32_t nodes;
};

/* RADIUS as a multiple of 2^-30, rounded up: digits, at most nine of them after the point. 0 if it is no radius. */
static uint64_t parse_radius(const char *radius)
{
    struct cv_text before = cv_text(radius), after = {0};
    const bool pointed = cv_text_split(before, '.', &before, &after);
    uint64_t whole = 0, fraction = 0, scale = 1;
    if (before.length > 0 || !pointed)
        if (!cv_parse_number(before, UINT32_MAX, &whole) || whole > 1)
            return 0;
    if (pointed && (after.length > 9 || !cv_parse_number(after, UINT32_MAX, &fraction)))
        return 0;
    for (size_t i = 0; i < after.length; i++)
        scale *= 10;
    const uint64_t multiple = ((whole * scale + fraction) * SIDE + scale - 1) / scale;
    return multiple <= SIDE * 3 / 2 ? multiple : 0;
}

static uint64_t cell_of(const struct plane *plane, cv_node node)
{
    const uint64_t width = SIDE / plane->across + 1;
    return plane->points[node].y / width * plane->across + plane->points[node].x / width;
}

/* Sorts the nodes into cells no narrower than `reach`, and no more of them than nodes. */
static void fill_cells(struct plane *plane, uint64_t reach)
{
    plane->across = 1;
    while ((plane->across + 1) * (plane->across + 1) <= plane->nodes && (plane->across + 1) * reach <= SIDE)
        plane->across++;
    const uint64_t count = plane->across * plane->across;
    memset(plane->cells, 0, (count + 2) * sizeof *plane->cells);

    /* Counts two places further on, so that filling the cells moves their beginnings to the right places. */
    for (cv_node node = 0; node < plane->nodes; node++)
        plane->cells[cell_of(plane, node) + 2]++;
    for (uint64_t cell = 2; cell < count + 2; cell++)
        plane->cells[cell] += plane->cells[cell - 1];
    for (cv_node node = 0; node < plane->nodes; node++)
        plane->order[plane->cells[cell_of(plane, node) + 1]++] = node;
}

static uint64_t squared_distance(struct cv_point p, struct cv_point q)
{
    const int64_t x = (int64_t)p.x - q.x, y = (int64_t)p.y - q.y;
    return (uint64_t)(x * x + y * y);
}

/* Lists the near pairs of order[i] and order[begin .. end) that lie in two components. */
static void compare(const struct plane *plane, uint32_t i, uint32_t begin, uint32_t end, uint64_t reach,
                    struct edge_list *edges)
{
    const cv_node a = plane->order[i];
    for (uint32_t j = begin; j < end; j++) {
        const cv_node b = plane->order[j];
        const uint64_t squared = squared_distance(plane->points[a], plane->points[b]);
        if (squared < reach * reach && plane->parent[a] != plane->parent[b])
            edge_list_add(edges, (struct graph_edge){a < b ? a : b, a < b ? b : a, squared, 1, 1});
    }
}

/* Lists the pairs of different components closer than `reach`, each once. */
static void list_near(struct plane *plane, uint64_t reach, struct edge_list *edges)
{
    for (cv_node node = 0; node < plane->nodes; node++)
        plane->parent[node] = component_first(plane->parent, node);
    fill_cells(plane, reach);
    const uint32_t *cells = plane->cells;
    const uint64_t across = plane->across;
    for (uint64_t cell = 0; cell < across * across; cell++) {
        /* The rest of this cell and the next one, then the three below: neighbours in the order as well. */
        const uint64_t left = cell % across > 0, right = cell % across < across - 1, below = cell + across;
        for (uint32_t i = cells[cell]; i < cells[cell + 1]; i++) {
            compare(plane, i, i + 1, cells[cell + right + 1], reach, edges);
            if (below < across * across)
                compare(plane, i, cells[below - left], cells[below + right + 1], reach, edges);
        }
    }
}

/* Keeps all pairs within the radius, then, looking twice as far each time, those that join two components. */
static void join_near(struct plane *plane, uint64_t reach, struct edge_list *edges)
{
    uint32_t components = plane->nodes;
    list_near(plane, reach, edges);
    for (uint64_t i = 0; i < edges->count; i++)
        components -= component_join(plane->parent, edges->list[i].a, edges->list[i].b);
    while (components > 1 && !edges->exhausted) {
        struct edge_list shortest = {0};
        reach *= 2;
        list_near(plane, reach, &shortest);
        edge_list_sort(&shortest);
        for (uint64_t i = 0; i < shortest.count; i++)
            if (component_join(plane->parent, shortest.list[i].a, shortest.list[i].b)) {
                edge_list_add(edges, shortest.list[i]);
                components--;
            }
        edges->exhausted |= shortest.exhausted;
        free(shortest.list);
    }
}

void cv_plane_points(struct cv_point *points, uint32_t nodes, struct cv_random *random)
{
    for (cv_node node = 0; node < nodes; node++) {
        points[node].x = (uint32_t)cv_random_below(random, SIDE + 1);
        points[node].y = (uint32_t)cv_random_below(random, SIDE + 1);
    }
}

int graph_geometric_add(struct edge_list *edges, const char *radius, uint32_t nodes, struct cv_random *random,
                        struct cv_complaint *complaint)
{
    const uint64_t reach = parse_radius(radius);
    if (!reach)
        return cv_complain(complaint,
                           "topology 'geometric:%s': expected a radius above 0 and up to 1.5, with at most 9 decimals",
                           radius);
    struct plane plane = {.nodes = nodes};
    plane.points = calloc(nodes, sizeof *plane.points);
    plane.order = malloc(nodes * sizeof *plane.order);
    plane.parent = malloc(nodes * sizeof *plane.parent);
    plane.cells = malloc(((size_t)nodes + 2) * sizeof *plane.cells);
    int error = CV_ENOMEM;
    if (plane.points && plane.order && plane.parent && plane.cells) {
        cv_plane_points(plane.points, nodes, random);
        for (cv_node node = 0; node < nodes; node++)
            plane.parent[node] = node;
        join_near(&plane, reach, edges);
        error = 0;
    }
    free(plane.points);
    free(plane.order);
    free(plane.parent);
    free(plane.cells);
    return error;
}
