// SPDX-License-Identifier: MIT
#include "core/graph/graph_paths.h"

#include <stdlib.h>

/* ---- nodes by their distance so far, the nearest at the root ---------------------------------------- */

struct heap {
    cv_node *nodes;
    uint32_t *place; /* by node: its place in the heap; UINT32_MAX: it is not in the heap */
    const uint64_t *distances;
    uint32_t count;
};

static void put(struct heap *heap, uint32_t place, cv_node node)
{
    heap->nodes[place] = node;
    heap->place[node] = place;
}

static void rise(struct heap *heap, cv_node node)
{
    uint32_t place = heap->place[node];
    while (place && heap->distances[node] < heap->distances[heap->nodes[(place - 1) / 2]]) {
        put(heap, place, heap->nodes[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(heap, place, node);
}

/* Adds a node, or moves it up because it is nearer now. */
static void bring_nearer(struct heap *heap, cv_node node)
{
    if (heap->place[node] == UINT32_MAX)
        put(heap, heap->count++, node);
    rise(heap, node);
}

static cv_node take_nearest(struct heap *heap)
{
    const cv_node nearest = heap->nodes[0], last = heap->nodes[--heap->count];
    uint32_t place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < heap->count && heap->distances[heap->nodes[child + 1]] < heap->distances[heap->nodes[child]])
            child++;
        if (child >= heap->count || heap->distances[heap->nodes[child]] >= heap->distances[last])
            break;
        put(heap, place, heap->nodes[child]);
        place = child;
    }
    put(heap, place, last);
    heap->place[nearest] = UINT32_MAX;
    return nearest;
}

/* ---- Dijkstra ---------------------------------------------------------------------------------------- */

int cv_graph_distances(const struct cv_graph *graph, cv_node source, enum cv_length length, const bool *absent,
                       uint64_t *distances)
{
    assert(source < graph->nodes);
    struct heap heap = {.nodes = malloc(graph->nodes * sizeof *heap.nodes),
                        .place = malloc(graph->nodes * sizeof *heap.place),
                        .distances = distances};
    const int error = heap.nodes && heap.place ? 0 : CV_ENOMEM;
    for (cv_node node = 0; !error && node < graph->nodes; node++) {
        distances[node] = CV_UNREACHED;
        heap.place[node] = UINT32_MAX;
    }
    if (!error && !(absent && absent[source])) {
        distances[source] = 0;
        bring_nearer(&heap, source);
    }
    while (!error && heap.count) {
        const cv_node node = take_nearest(&heap);
        for (uint64_t i = graph->edges[node]; i < graph->edges[node + 1]; i++) {
            const cv_node next = graph->neighbours[i];
            const uint32_t step = cv_graph_length(graph, i, length);
            if (step == CV_NO_WAY || (absent && absent[next]) || distances[node] + step >= distances[next])
                continue;
            distances[next] = distances[node] + step;
            bring_nearer(&heap, next);
        }
    }
    free(heap.nodes);
    free(heap.place);
    return error;
}

uint32_t cv_graph_step(const struct cv_graph *graph, cv_node from, cv_node to, enum cv_length length)
{
    uint64_t low = graph->edges[from], high = graph->edges[from + 1];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (graph->neighbours[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->edges[from + 1] && graph->neighbours[low] == to ? cv_graph_length(graph, low, length)
                                                                        : CV_NO_WAY;
}
