// SPDX-License-Identifier: MIT
#include "core/graph/graph_build.h"

#include <stdlib.h>

/* ---- from a list of edges to rows ------------------------------------------------------------------- */

void edge_list_add(struct edge_list *edges, struct graph_edge edge)
{
    if (edges->count == edges->room && !edges->exhausted) {
        const uint64_t room = edges->room ? 2 * edges->room : 64;
        struct graph_edge *list = realloc(edges->list, room * sizeof *list);
        edges->exhausted = list == NULL;
        if (list) {
            edges->list = list;
            edges->room = room;
        }
    }
    if (!edges->exhausted)
        edges->list[edges->count++] = edge;
}

static int by_key_and_ends(const void *left, const void *right)
{
    const struct graph_edge *x = left, *y = right;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

void edge_list_sort(struct edge_list *edges)
{
    if (edges->count)
        qsort(edges->list, edges->count, sizeof *edges->list, by_key_and_ends);
}

/* An entry of a row: the neighbour, and the weight of the edge from it. */
struct end {
    cv_node node;
    uint32_t weight; /* of the edge from that neighbour */
};

/* Puts both ends of every edge into the rows, in any order. `next` is where each row goes on. */
static void scatter(const struct edge_list *edges, uint64_t *next, struct end *ends)
{
    for (uint64_t i = 0; i < edges->count; i++) {
        const struct graph_edge *edge = &edges->list[i];
        ends[next[edge->a]++] = (struct end){edge->b, edge->back};
        ends[next[edge->b]++] = (struct end){edge->a, edge->weight};
    }
}

/* Takes the rows in order and appends each node to its neighbours' rows, so that these are sorted in the end. */
static void sort_rows(struct cv_graph *graph, const struct end *ends, uint64_t *next)
{
    for (cv_node node = 0; node < graph->nodes; node++)
        for (uint64_t i = graph->edges[node]; i < graph->edges[node + 1]; i++) {
            const uint64_t place = next[ends[i].node]++;
            graph->neighbours[place] = node;
            if (graph->weights)
                graph->weights[place] = ends[i].weight;
        }
}

int graph_build(struct cv_graph *graph, uint32_t nodes, struct edge_list *edges)
{
    const uint64_t count = 2 * edges->count;
    bool weighted = false;
    for (uint64_t i = 0; i < edges->count; i++)
        weighted |= edges->list[i].weight != 1 || edges->list[i].back != 1;

    *graph = (struct cv_graph){.nodes = nodes};
    graph->edges = calloc((size_t)nodes + 1, sizeof *graph->edges);
    graph->neighbours = malloc((count + 1) * sizeof *graph->neighbours);
    graph->weights = weighted ? malloc(count * sizeof *graph->weights) : NULL;
    uint64_t *next = malloc(((size_t)nodes + 1) * sizeof *next);
    struct end *ends = calloc(count + 1, sizeof *ends);
    int error = CV_ENOMEM;
    if (edges->exhausted || !graph->edges || !graph->neighbours || (weighted && !graph->weights) || !next || !ends)
        goto out;

    for (uint64_t i = 0; i < edges->count; i++) {
        graph->edges[edges->list[i].a + 1]++;
        graph->edges[edges->list[i].b + 1]++;
    }
    for (cv_node node = 0; node < nodes; node++)
        graph->edges[node + 1] += graph->edges[node];
    memcpy(next, graph->edges, nodes * sizeof *next);
    scatter(edges, next, ends);
    memcpy(next, graph->edges, nodes * sizeof *next);
    sort_rows(graph, ends, next);
    error = 0;
out:
    free(next);
    free(ends);
    free(edges->list);
    *edges = (struct edge_list){0};
    if (error)
        cv_graph_free(graph);
    return error;
}

void cv_graph_free(struct cv_graph *graph)
{
    free(graph->edges);
    free(graph->neighbours);
    free(graph->weights);
    *graph = (struct cv_graph){0};
}

/* ---- questions -------------------------------------------------------------------------------------- */

uint32_t cv_graph_components(const struct cv_graph *graph, uint32_t *label)
{
    uint32_t *parent = label ? label : malloc(((size_t)graph->nodes + 1) * sizeof *parent);
    if (!parent)
        return 0;
    for (cv_node node = 0; node < graph->nodes; node++) {
        parent[node] = node;
        for (uint64_t i = graph->edges[node]; i < graph->edges[node + 1] && graph->neighbours[i] < node; i++)
            component_join(parent, graph->neighbours[i], node);
    }
    for (cv_node node = 0; node < graph->nodes; node++)
        parent[node] = component_first(parent, node);

    /* A component's first node comes before the others and has its number by then. */
    uint32_t count = 0;
    for (cv_node node = 0; node < graph->nodes; node++)
        parent[node] = parent[node] == node ? count++ : parent[parent[node]];
    if (!label)
        free(parent);
    return count;
}

/* Breadth-first search, layer by layer; the last layer is the farthest. */
uint32_t cv_graph_eccentricity(const struct cv_graph *graph, cv_node source, bool *deep_branching)
{
    assert(source < graph->nodes);
    uint32_t distance = UINT32_MAX;
    bool *seen = calloc(graph->nodes, sizeof *seen);
    cv_node *queue = malloc(graph->nodes * sizeof *queue);
    if (!seen || !queue)
        goto out;

    queue[0] = source;
    seen[source] = true;
    uint32_t layer = 0, end = 0, filled = 1;
    while (end < filled) {
        layer = end;
        end = filled;
        distance++;
        for (uint32_t i = layer; i < end; i++)
            for (uint64_t j = graph->edges[queue[i]]; j < graph->edges[queue[i] + 1]; j++) {
                const cv_node node = graph->neighbours[j];
                if (!seen[node])
                    queue[filled++] = node;
                seen[node] = true;
            }
    }
    if (deep_branching) {
        *deep_branching = false;
        for (uint32_t i = layer; i < end; i++)
            *deep_branching |= cv_graph_degree(graph, queue[i]) > 1;
    }
out:
    free(seen);
    free(queue);
    return distance;
}

/* Rows are sorted and nodes are taken in order, so each row is filled from its beginning to its end. */
uint32_t *cv_graph_ends(const struct cv_graph *graph)
{
    uint32_t *ends = malloc((graph->edges[graph->nodes] + 1) * sizeof *ends);
    uint32_t *met = calloc(graph->nodes, sizeof *met);
    for (uint64_t i = 0; ends && met && i < graph->edges[graph->nodes]; i++)
        ends[i] = met[graph->neighbours[i]]++;
    if (!met) {
        free(ends);
        ends = NULL;
    }
    free(met);
    return ends;
}
