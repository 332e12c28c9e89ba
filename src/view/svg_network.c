// SPDX-License-Identifier: MIT
/* The network of algorithms that run on a graph, with the way on which each node was reached first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "view/svg_parts.h"

#define SMALLEST_RADIUS 80.0

static struct svg_point place(const struct svg *svg, struct svg_point middle, double radius, cv_node node)
{
    const double angle = -1.5707963267948966 + 6.283185307179586 * node / svg->scenario->group.nodes;
    return (struct svg_point){middle.x + radius * cos(angle), middle.y + radius * sin(angle)};
}

/* From whom each node first heard anything: in a wave of messages, its parent. */
static cv_node *find_parents(const struct svg *svg)
{
    const uint32_t nodes = svg->scenario->group.nodes;
    cv_node *parents = malloc(nodes * sizeof *parents);
    for (cv_node node = 0; parents && node < nodes; node++)
        parents[node] = CV_NOBODY;
    for (size_t i = 0; parents && i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        if (event->type == CV_EVENT_START)
            parents[event->node] = event->node;
        else if (event->type == CV_EVENT_RECEIVE && parents[event->node] == CV_NOBODY)
            parents[event->node] = event->peer;
    }
    return parents;
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
        }
}

double svg_network_draw(struct svg *svg, double y)
{
    const struct cv_group *group = &svg->scenario->group;
    if (group->topology != CV_GRAPH || group->nodes < 2)
        return y;
    const double wanted = 7.0 * group->nodes, radius = wanted > SMALLEST_RADIUS ? wanted : SMALLEST_RADIUS;
    const struct svg_point middle = {28 + radius + 30, y + radius + 50};
    cv_node *parents = find_parents(svg);
    if (!parents) {
        svg->out_of_memory = true;
        return y;
    }
    svg_text(svg, 28, y + 22, "", "The network; blue: on this way a node was reached first");
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
