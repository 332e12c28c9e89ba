// SPDX-License-Identifier: MIT
#include "core/graph/graph_make.h"

#include "core/graph/graph_build.h"
#include "core/graph/graph_geometric.h"
#include "core/parse.h"

#include <inttypes.h>
#include <stdlib.h>

/* A graph under construction: the shapes below add its edges, or fill the graph itself. */
struct order {
    const char *spec;
    const char *argument; /* after the colon */
    struct cv_graph *graph;
    struct edge_list edges;
    struct cv_random *random;
    struct cv_complaint *complaint;
    uint32_t nodes;
};

static void join(struct order *order, cv_node a, cv_node b)
{
    edge_list_add(&order->edges, (struct graph_edge){.a = a, .b = b, .weight = 1, .back = 1});
}

static int make_line(struct order *order)
{
    for (cv_node node = 1; node < order->nodes; node++)
        join(order, node - 1, node);
    return 0;
}

/* Two nodes on a ring are neighbours once. */
static int make_ring(struct order *order)
{
    make_line(order);
    if (order->nodes > 2)
        join(order, 0, order->nodes - 1);
    return 0;
}

static int make_star(struct order *order)
{
    for (cv_node node = 1; node < order->nodes; node++)
        join(order, 0, node);
    return 0;
}

static int make_tree(struct order *order)
{
    for (cv_node node = 1; node < order->nodes; node++)
        join(order, (node - 1) / 2, node);
    return 0;
}

/* Fills the rows directly: a list of all edges would take several times the memory of the graph. */
static int make_complete(struct order *order)
{
    struct cv_graph *graph = order->graph;
    const uint64_t nodes = order->nodes, degree = nodes - 1;
    graph->nodes = order->nodes;
    graph->edges = malloc((nodes + 1) * sizeof *graph->edges);
    if (nodes * degree < SIZE_MAX / sizeof *graph->neighbours)
        graph->neighbours = malloc((nodes * degree + 1) * sizeof *graph->neighbours);
    if (!graph->edges || !graph->neighbours) {
        cv_graph_free(graph);
        return CV_ENOMEM;
    }
    cv_node *next = graph->neighbours;
    for (cv_node node = 0; node < nodes; node++) {
        graph->edges[node] = node * degree;
        for (cv_node other = 0; other < nodes; other++)
            if (other != node)
                *next++ = other;
    }
    graph->edges[nodes] = nodes * degree;
    return 0;
}

static bool read_grid(const char *argument, uint64_t *rows, uint64_t *columns)
{
    struct cv_text height, width;
    return cv_text_split(cv_text(argument), 'x', &height, &width) && cv_parse_number(height, UINT32_MAX, rows) &&
           cv_parse_number(width, UINT32_MAX, columns);
}

static int make_grid(struct order *order)
{
    uint64_t rows, columns;
    if (!read_grid(order->argument, &rows, &columns))
        return cv_complain(order->complaint, "topology '%s': expected grid:RxC, as in grid:3x4", order->spec);
    if (rows * columns != order->nodes)
        return cv_complain(order->complaint, "topology '%s' has %" PRIu64 " nodes, the group has %" PRIu32, order->spec,
                           rows * columns, order->nodes);
    for (cv_node node = 0; node < order->nodes; node++) {
        if (node % columns > 0)
            join(order, node - 1, node);
        if (node >= columns)
            join(order, node - (cv_node)columns, node);
    }
    return 0;
}

/* ---- gadget:K --------------------------------------------------------------------------------------- */

static bool read_gadget(const char *spec, uint64_t *rungs)
{
    return strncmp(spec, "gadget:", 7) == 0 && cv_parse_number(cv_text(spec + 7), CV_MOST_RUNGS, rungs) && *rungs;
}

uint32_t cv_graph_gadget(const char *spec)
{
    uint64_t rungs;
    return read_gadget(spec, &rungs) ? (uint32_t)rungs : 0;
}

/* From a to b, and not back. */
static void lead(struct order *order, cv_node a, cv_node b, uint32_t weight)
{
    edge_list_add(&order->edges, (struct graph_edge){.a = a, .b = b, .weight = weight, .back = CV_NO_WAY});
}

static int make_gadget(struct order *order)
{
    const uint32_t rungs = cv_graph_gadget(order->spec);
    if (!rungs)
        return cv_complain(order->complaint, "topology '%s': expected gadget:K, K of 1..%u", order->spec,
                           CV_MOST_RUNGS);
    if (2 * rungs + 1 != order->nodes)
        return cv_complain(order->complaint, "topology '%s' has %" PRIu32 " nodes, the group has %" PRIu32, order->spec,
                           2 * rungs + 1, order->nodes);
    for (uint32_t i = rungs; i > 0; i--) {
        const cv_node a = 2 * (rungs - i), b = a + 1, next = a + 2;
        lead(order, a, b, 0);
        lead(order, b, next, 0);
        lead(order, a, next, 1u << (i - 1));
    }
    return 0;
}

/* ---- random:EDGES ----------------------------------------------------------------------------------- */

/* The pairs that are joined, in a hash table with open addresses, at most half full. No pair is 0. */
struct pairs {
    uint64_t *slots;
    unsigned bits;
};

static bool insert(struct pairs *pairs, cv_node a, cv_node b)
{
    const uint64_t pair = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    const uint64_t mask = (UINT64_C(1) << pairs->bits) - 1;
    uint64_t slot = pair * 0x9e3779b97f4a7c15u >> (64 - pairs->bits);
    for (; pairs->slots[slot]; slot = (slot + 1) & mask)
        if (pairs->slots[slot] == pair)
            return false;
    pairs->slots[slot] = pair;
    return true;
}

/*
 * Aldous (1990): joining node i to the lesser of i-1 and a random node, and then shuffling the names, makes every
 * tree on the nodes equally likely.
 */
static void random_tree(struct order *order, struct pairs *pairs, uint32_t *names)
{
    for (uint32_t i = 0; i < order->nodes; i++)
        names[i] = i;
    cv_random_shuffle(order->random, names, order->nodes);
    for (uint32_t i = 1; i < order->nodes; i++) {
        const uint32_t drawn = (uint32_t)cv_random_below(order->random, order->nodes);
        const cv_node parent = names[drawn < i ? drawn : i - 1];
        insert(pairs, parent, names[i]);
        join(order, parent, names[i]);
    }
}

/* Draws again if the pair is joined already. Even for all possible edges this takes some twenty draws for each. */
static int make_random(struct order *order)
{
    const uint64_t nodes = order->nodes, most = nodes * (nodes - 1) / 2;
    uint64_t edges;
    if (!cv_parse_number(cv_text(order->argument), UINT64_MAX, &edges) || edges < nodes - 1 || edges > most)
        return cv_complain(order->complaint,
                           "topology '%s': connecting %" PRIu64 " nodes takes %" PRIu64 " to %" PRIu64 " edges",
                           order->spec, nodes, nodes - 1, most);

    struct pairs pairs = {.bits = 1};
    while (pairs.bits < 63 && UINT64_C(1) << pairs.bits < 2 * edges)
        pairs.bits++;
    pairs.slots = calloc(UINT64_C(1) << pairs.bits, sizeof *pairs.slots);
    uint32_t *names = malloc(nodes * sizeof *names);
    if (pairs.slots && names) {
        random_tree(order, &pairs, names);
        for (uint64_t count = nodes - 1; count < edges;) {
            const cv_node a = (cv_node)cv_random_below(order->random, order->nodes);
            const cv_node b = (cv_node)cv_random_below(order->random, order->nodes);
            if (a != b && insert(&pairs, a, b)) {
                join(order, a, b);
                count++;
            }
        }
    }
    const int error = pairs.slots && names ? 0 : CV_ENOMEM;
    free(pairs.slots);
    free(names);
    return error;
}

static int make_geometric(struct order *order)
{
    return graph_geometric_add(&order->edges, order->argument, order->nodes, order->random, order->complaint);
}

uint32_t cv_graph_size(const char *spec)
{
    uint64_t rows, columns;
    if (strncmp(spec, "grid:", 5) == 0 && read_grid(spec + 5, &rows, &columns) && rows * columns <= UINT32_MAX)
        return (uint32_t)(rows * columns);
    return cv_graph_gadget(spec) ? 2 * cv_graph_gadget(spec) + 1 : 0;
}

/* ---- the list of shapes ----------------------------------------------------------------------------- */

static const struct shape {
    const char *name;
    const char *argument; /* the argument after the name, with its colon; empty: none */
    int (*make)(struct order *order);
} shapes[] = {
#define SHAPE(name, argument) {#name, argument, make_##name},
    CV_GRAPH_SHAPES(SHAPE)
#undef SHAPE
};

static const struct shape *find_shape(const char *spec)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t length = strlen(shapes[i].name);
        if (strncmp(spec, shapes[i].name, length) == 0 && spec[length] == *shapes[i].argument)
            return &shapes[i];
    }
    return NULL;
}

bool cv_graph_is_shape(const char *spec)
{
    return find_shape(spec) != NULL;
}

int cv_graph_make(struct cv_graph *graph, const char *spec, uint32_t nodes, struct cv_random *random,
                  struct cv_complaint *complaint)
{
    *graph = (struct cv_graph){0};
    const struct shape *shape = find_shape(spec);
    if (!shape)
        return cv_complain(complaint, "topology '%s': expected " CV_GRAPH_SPECS "or edges", spec);
    if (nodes == 0)
        return cv_complain(complaint, "topology '%s' needs at least one node", spec);

    struct order order = {.spec = spec, .graph = graph, .random = random, .complaint = complaint, .nodes = nodes};
    order.argument = spec + strlen(shape->name) + (*shape->argument == ':');
    const int error = shape->make(&order);
    if (error == 0 && !graph->edges)
        return graph_build(graph, nodes, &order.edges);
    free(order.edges.list);
    return error;
}
