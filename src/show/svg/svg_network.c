// SPDX-License-Identifier: MIT
/* Draws the network: a ring with the direction of messages; a graph by the trees that the run has built in it. */
#include "show/svg/svg_network.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/graph/graph_paths.h"
#include "show/svg/svg_layout.h"
#include "show/svg/svg_text.h"

#define RADIUS 12.0 /* of a node */
#define TREE "#0072b2"
#define PREFERRED "#009e73"
#define OTHER "#c9ced4"

struct network {
    struct svg *svg;
    const struct cv_group *group;
    struct svg_layout layout;
    struct svg_point corner;
    cv_node *parents;
    bool clusters;
};

static struct svg_point place(const struct network *network, cv_node node)
{
    const struct svg_point at = network->layout.at[node];
    return (struct svg_point){network->corner.x + at.x, network->corner.y + at.y};
}

/* ---- trees ---- */

/* Has any node a result? */
static bool has_results(const struct svg *svg)
{
    for (cv_node node = 0; node < svg->history->node_count; node++)
        if (svg->history->nodes[node].came)
            return true;
    return false;
}

/* The node from which each first heard a message of these kinds: its parent in a wave. The initiator has none. */
static void find_wave(const struct svg *svg, uint32_t least_kind, cv_node *parents)
{
    for (size_t i = 0; i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        const bool sends = event->type == CV_EVENT_SEND, hears = event->type == CV_EVENT_RECEIVE;
        if ((sends || hears) && event->content->kind >= least_kind && parents[event->node] == CV_NOBODY)
            parents[event->node] = sends ? event->node : event->peer;
    }
}

/* The trees: of clusters, or the one that a synchronizer builds, or the nodes over which results came. */
static const char *find_trees(struct network *network)
{
    const struct svg *svg = network->svg;
    const uint32_t nodes = network->group->nodes;
    for (cv_node node = 0; node < nodes; node++)
        network->parents[node] = CV_NOBODY;
    if (network->clusters) {
        for (cv_node node = 0; node < nodes; node++)
            network->parents[node] = network->group->parents[node];
        return "The network; blue: the trees of the clusters; green: the edges over which clusters talk";
    }
    if (!has_results(svg) || svg->scenario->algorithm->hints.preparing) {
        find_wave(svg, svg->scenario->algorithm->hints.preparing, network->parents);
        return svg->scenario->algorithm->hints.preparing ? "The network; blue: the tree that was built first"
                                                         : "The network; blue: on this way a node was reached first";
    }
    for (cv_node node = 0; node < nodes; node++)
        if (svg->history->nodes[node].came)
            network->parents[node] = svg->history->nodes[node].via;
    return "The network; blue: over this edge a node has come to what it has";
}

/* ---- edges ---- */

/* The head of an arrow that ends at the rim of the second node. */
static void draw_head(struct svg *svg, struct svg_point from, struct svg_point to)
{
    const double length = hypot(to.x - from.x, to.y - from.y), dx = (to.x - from.x) / length,
                 dy = (to.y - from.y) / length;
    const struct svg_point tip = {to.x - (RADIUS + 1) * dx, to.y - (RADIUS + 1) * dy},
                           foot = {tip.x - 9 * dx, tip.y - 9 * dy};
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

/* Bends an edge between nodes of one row, so that it does not cross the nodes between them. */
static void draw_edge(const struct network *network, cv_node from, cv_node to, const char *colour, double width)
{
    const struct svg_point a = place(network, from), b = place(network, to);
    const bool bent = network->layout.trees && a.y == b.y;
    fprintf(network->svg->out,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>\n", colour,
            width, a.x, a.y, (a.x + b.x) / 2, (a.y + b.y) / 2 + (bent ? 14 + fabs(a.x - b.x) / 8 : 0), b.x, b.y);
}

enum layer { LAYER_OTHER, LAYER_PREFERRED, LAYER_TREE, LAYERS };

static enum layer layer_of(const struct network *network, cv_node node, uint64_t edge)
{
    const cv_node other = network->group->neighbours[edge];
    if (network->parents[node] == other || network->parents[other] == node)
        return LAYER_TREE;
    return network->clusters && network->group->preferred[edge] ? LAYER_PREFERRED : LAYER_OTHER;
}

static void draw_edges(const struct network *network, enum layer layer)
{
    static const char *const colours[LAYERS] = {OTHER, PREFERRED, TREE};
    static const double widths[LAYERS] = {1.2, 2.2, 2.6};
    const struct cv_group *group = network->group;
    for (cv_node node = 0; node < group->nodes; node++)
        for (uint64_t edge = group->edges[node]; edge < group->edges[node + 1]; edge++) {
            const cv_node other = group->neighbours[edge];
            if (other < node || layer_of(network, node, edge) != layer)
                continue;
            draw_edge(network, node, other, colours[layer], widths[layer]);
            if (group->weights)
                draw_weight(network->svg, place(network, node), place(network, other), group->weights[edge],
                            cv_graph_step(&network->svg->scenario->graph, other, node, CV_BY_WEIGHT));
        }
}

static bool is_ring(const struct cv_group *group)
{
    return group->topology == CV_RING || group->topology == CV_RING_BOTH;
}

static void draw_ring(const struct network *network)
{
    for (cv_node node = 0; node < network->group->nodes; node++) {
        const cv_node next = (node + 1) % network->group->nodes;
        draw_edge(network, node, next, OTHER, 1.6);
        draw_head(network->svg, place(network, node), place(network, next));
        if (network->group->topology == CV_RING_BOTH)
            draw_head(network->svg, place(network, next), place(network, node));
    }
}

/* ---- nodes ---- */

static void draw_node(const struct network *network, cv_node node)
{
    const struct svg *svg = network->svg;
    const struct cv_history_node *it = &svg->history->nodes[node];
    const struct svg_point at = place(network, node);
    const bool leads = it->knows && it->leader == network->group->ids[node];
    const bool head = network->clusters && network->parents[node] == node;
    char text[32];
    fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
            at.x, at.y, RADIUS,
            leads      ? "#fff3c4"
            : it->down ? "#f3f4f5"
            : head     ? "#dcecf7"
                       : "#ffffff",
            leads  ? "#b58900"
            : head ? TREE
                   : "#8c959f",
            head ? 2.2 : 1.4);
    snprintf(text, sizeof text, "%s", cv_name(svg->scenario, node).text);
    svg_text(network->svg, at.x, at.y + 4.5, it->down ? "id small dim" : "id small", text);
}

static double draw(struct network *network, double y)
{
    struct svg *svg = network->svg;
    const bool ring = is_ring(network->group);
    const uint32_t nodes = network->group->nodes;
    svg_text(svg, 28, y + 22, "", ring ? "The ring, and how messages travel" : find_trees(network));
    if (ring)
        svg_layout_circle(&network->layout, nodes);
    else
        svg_layout_trees(&network->layout, network->parents, nodes);
    network->corner = (struct svg_point){58, y + 50};
    if (ring)
        draw_ring(network);
    for (enum layer layer = 0; !ring && layer < LAYERS; layer++)
        draw_edges(network, layer);
    for (cv_node node = 0; node < nodes; node++)
        draw_node(network, node);
    if (58 + network->layout.width + 40 > svg->width)
        svg->width = 58 + network->layout.width + 40;
    return network->corner.y + network->layout.height + 30;
}

double svg_network_draw(struct svg *svg, double y)
{
    const struct cv_group *group = &svg->scenario->group;
    if ((group->topology != CV_GRAPH && !is_ring(group)) || group->nodes < 2)
        return y;
    struct network network = {.svg = svg, .group = group, .clusters = group->parents != NULL};
    network.layout.at = calloc(group->nodes, sizeof *network.layout.at);
    network.parents = calloc(group->nodes, sizeof *network.parents);
    if (network.layout.at && network.parents)
        y = draw(&network, y);
    else
        svg->out_of_memory = true;
    free(network.layout.at);
    free(network.parents);
    return y;
}
