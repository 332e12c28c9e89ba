// SPDX-License-Identifier: MIT
/* The network of algorithms that run on a graph, with the way on which each node was reached: best, or at least first.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/graph_paths.h"
#include "view/svg_parts.h"

#define SMALLEST_RADIUS 80.0

static struct svg_point place(const struct svg *svg, struct svg_point middle, double radius, cv_node node)
{
    const double angle = -1.5707963267948966 + 6.283185307179586 * node / svg->scenario->group.nodes;
    return (struct svg_point){middle.x + radius * cos(angle), middle.y + radius * sin(angle)};
}

/* Have nodes come to something over each other? */
static bool has_results(const struct svg *svg)
{
    for (cv_node node = 0; node < svg->history->node_count; node++)
        if (svg->history->nodes[node].came)
            return true;
    return false;
}

/* Over whom each node came to what it has; otherwise from whom it first heard anything: in a wave, its parent. */
static cv_node *find_parents(const struct svg *svg, bool results)
{
    const uint32_t nodes = svg->scenario->group.nodes;
    cv_node *parents = malloc(nodes * sizeof *parents);
    for (cv_node node = 0; parents && node < nodes; node++)
        parents[node] = CV_NOBODY;
    for (cv_node node = 0; parents && results && node < nodes; node++)
        if (svg->history->nodes[node].came)
            parents[node] = svg->history->nodes[node].via;
    for (size_t i = 0; parents && !results && i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        if (event->type == CV_EVENT_START)
            parents[event->node] = event->node;
        else if (event->type == CV_EVENT_RECEIVE && parents[event->node] == CV_NOBODY)
            parents[event->node] = event->peer;
    }
    return parents;
}

/* The head of an arrow that ends at the rim of the second node. */
static void draw_head(struct svg *svg, struct svg_point from, struct svg_point to)
{
    const double length = hypot(to.x - from.x, to.y - from.y), dx = (to.x - from.x) / length,
                 dy = (to.y - from.y) / length;
    const struct svg_point tip = {to.x - 13 * dx, to.y - 13 * dy}, foot = {tip.x - 9 * dx, tip.y - 9 * dy};
    fprintf(svg->out, "<path fill=\"#656d76\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>\n", tip.x, tip.y, foot.x - 4 * dy,
            foot.y + 4 * dx, foot.x + 4 * dy, foot.y - 4 * dx);
}

/* The weight beside an edge, and an arrow's head where it leads one way only. */
static void draw_weight(struct svg *svg, struct svg_point a, struct svg_point b, uint32_t there, uint32_t back)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu32, there == CV_NO_WAY ? back : there);
    svg_text(svg, (a.x + b.x) / 2, (a.y + b.y) / 2 + 4, "label", text);
    if (back == CV_NO_WAY)
        draw_head(svg, a, b);
    else if (there == CV_NO_WAY)
        draw_head(svg, b, a);
}

static void draw_edges(struct svg *svg, struct svg_point middle, double radius, const cv_node *parents, bool tree)
{
    const struct cv_group *group = &svg->scenario->group;
    for (cv_node node = 0; node < group->nodes; node++)
        for (uint64_t edge = group->edges[node]; edge < group->edges[node + 1]; edge++) {
            const cv_node other = group->neighbours[edge];
            const bool in_tree = parents[node] == other || parents[other] == node;
            if (other < node || in_tree != tree)
                continue;
            const struct svg_point a = place(svg, middle, radius, node), b = place(svg, middle, radius, other);
            fprintf(svg->out,
                    "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
                    a.x, a.y, b.x, b.y, tree ? "#0072b2" : "#c9ced4", tree ? 2.6 : 1.2);
            if (group->weights)
                draw_weight(svg, a, b, group->weights[edge],
                            cv_graph_step(&svg->scenario->graph, other, node, CV_BY_WEIGHT));
        }
}

double svg_network_draw(struct svg *svg, double y)
{
    const struct cv_group *group = &svg->scenario->group;
    if (group->topology != CV_GRAPH || group->nodes < 2)
        return y;
    const double wanted = 7.0 * group->nodes, radius = wanted > SMALLEST_RADIUS ? wanted : SMALLEST_RADIUS;
    const struct svg_point middle = {28 + radius + 30, y + radius + 50};
    const bool results = has_results(svg);
    cv_node *parents = find_parents(svg, results);
    if (!parents) {
        svg->out_of_memory = true;
        return y;
    }
    svg_text(svg, 28, y + 22, "",
             results ? "The network; blue: over this edge a node has come to what it has"
                     : "The network; blue: on this way a node was reached first");
    draw_edges(svg, middle, radius, parents, false);
    draw_edges(svg, middle, radius, parents, true);
    for (cv_node node = 0; node < group->nodes; node++) {
        const struct cv_history_node *it = &svg->history->nodes[node];
        const struct svg_point at = place(svg, middle, radius, node);
        const bool leads = it->knows && it->leader == group->ids[node];
        char text[32];
        fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"12\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.4\"/>\n",
                at.x, at.y,
                leads      ? "#fff3c4"
                : it->down ? "#f3f4f5"
                           : "#ffffff",
                leads ? "#b58900" : "#8c959f");
        snprintf(text, sizeof text, "%" PRIu32, group->ids[node]);
        svg_text(svg, at.x, at.y + 4.5, it->down ? "id small dim" : "id small", text);
    }
    free(parents);
    return middle.y + radius + 20;
}
