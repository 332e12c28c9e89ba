// SPDX-License-Identifier: MIT
#include "core/scenario/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/reader.h"

#define NONE UINT32_MAX

struct builder {
    const struct cv_graph *graph;
    const cv_id *ids;
    struct cv_clusters *clusters;
    uint32_t *home;    /* by node: its line in the file; a cluster has only nodes of its head's line */
    uint32_t *cluster; /* of a node, or NONE */
    uint32_t *met;     /* by node, later by cluster: the last cluster that has seen it */
    cv_node *order;    /* the nodes that are in clusters, one cluster after the other, layer by layer */
    uint64_t *best;    /* per cluster: the smallest edge from the one at hand to it */
    uint32_t placed;   /* nodes that are in clusters */
};

void cv_clusters_free(struct cv_clusters *clusters)
{
    free(clusters->parents);
    free(clusters->preferred);
    *clusters = (struct cv_clusters){0};
}

static int begin(struct builder *builder, struct cv_clusters *clusters, const struct cv_graph *graph, const cv_id *ids)
{
    const size_t nodes = graph->nodes;
    *clusters = (struct cv_clusters){.parents = malloc(nodes * sizeof *clusters->parents),
                                     .preferred = calloc(graph->edges[nodes] + 1, 1)};
    *builder = (struct builder){.graph = graph,
                                .ids = ids,
                                .clusters = clusters,
                                .home = calloc(nodes, sizeof *builder->home),
                                .cluster = malloc(nodes * sizeof *builder->cluster),
                                .met = malloc(nodes * sizeof *builder->met),
                                .order = malloc(nodes * sizeof *builder->order),
                                .best = malloc(nodes * sizeof *builder->best)};
    if (!clusters->parents || !clusters->preferred || !builder->home || !builder->cluster || !builder->met ||
        !builder->order || !builder->best)
        return CV_ENOMEM;
    memset(builder->cluster, 0xff, nodes * sizeof *builder->cluster);
    memset(builder->met, 0xff, nodes * sizeof *builder->met);
    return 0;
}

static int end(struct builder *builder, int error)
{
    free(builder->home);
    free(builder->cluster);
    free(builder->met);
    free(builder->order);
    free(builder->best);
    if (error)
        cv_clusters_free(builder->clusters);
    return error;
}

/* ---- trees ------------------------------------------------------------------------------------------ */

/* Appends the neighbours of order[from .. to) to `order`. Returns their end. */
static uint32_t find_layer(struct builder *builder, uint32_t from, uint32_t to)
{
    const struct cv_graph *graph = builder->graph;
    const uint32_t number = builder->clusters->count;
    uint32_t next = to;
    for (uint32_t i = from; i < to; i++) {
        const cv_node node = builder->order[i];
        for (uint64_t edge = graph->edges[node]; edge < graph->edges[node + 1]; edge++) {
            const cv_node other = graph->neighbours[edge];
            if (builder->cluster[other] != NONE || builder->met[other] == number ||
                builder->home[other] != builder->home[node])
                continue;
            builder->met[other] = number;
            builder->clusters->parents[other] = node;
            builder->order[next++] = other;
        }
    }
    return next;
}

/*
 * Grows a cluster around the head, layer by layer, while a layer has at least (k − 1) times as many nodes. Returns its
 * size.
 */
static uint32_t grow(struct builder *builder, cv_node head, uint64_t k)
{
    struct cv_clusters *clusters = builder->clusters;
    const uint32_t first = builder->placed;
    uint32_t layer = first, ball = first + 1, height = 0;
    builder->order[first] = head;
    builder->met[head] = clusters->count;
    clusters->parents[head] = head;
    for (;; height++) {
        const uint32_t next = find_layer(builder, layer, ball);
        if (next == ball || next - ball < (k - 1) * (ball - first))
            break;
        layer = ball;
        ball = next;
    }
    for (uint32_t i = first; i < ball; i++)
        builder->cluster[builder->order[i]] = clusters->count;
    builder->placed = ball;
    clusters->count++;
    clusters->height = height > clusters->height ? height : clusters->height;
    return ball - first;
}

/* ---- preferred edges -------------------------------------------------------------------------------- */

/* The order of edges, the same for both ends: by the smaller id, then by the larger one. */
static uint64_t edge_key(const struct builder *builder, cv_node node, uint64_t edge)
{
    const cv_id one = builder->ids[node], other = builder->ids[builder->graph->neighbours[edge]];
    return one < other ? (uint64_t)one << 32 | other : (uint64_t)other << 32 | one;
}

/* The smallest edge from the cluster of order[from .. to) to each of its neighbours. */
static void find_best(struct builder *builder, uint32_t from, uint32_t to)
{
    const struct cv_graph *graph = builder->graph;
    const uint32_t mine = builder->cluster[builder->order[from]];
    for (uint32_t i = from; i < to; i++) {
        const cv_node node = builder->order[i];
        for (uint64_t edge = graph->edges[node]; edge < graph->edges[node + 1]; edge++) {
            const uint32_t theirs = builder->cluster[graph->neighbours[edge]];
            const uint64_t key = edge_key(builder, node, edge);
            if (theirs != mine && (builder->met[theirs] != mine || key < builder->best[theirs]))
                builder->best[theirs] = key;
            builder->met[theirs] = mine;
        }
    }
}

static void mark_best(struct builder *builder, uint32_t from, uint32_t to)
{
    const struct cv_graph *graph = builder->graph;
    const uint32_t mine = builder->cluster[builder->order[from]];
    for (uint32_t i = from; i < to; i++) {
        const cv_node node = builder->order[i];
        for (uint64_t edge = graph->edges[node]; edge < graph->edges[node + 1]; edge++) {
            const uint32_t theirs = builder->cluster[graph->neighbours[edge]];
            if (theirs == mine || edge_key(builder, node, edge) != builder->best[theirs])
                continue;
            builder->clusters->preferred[edge] = true;
            builder->clusters->preferred_edges += mine < theirs;
        }
    }
}

static void prefer_edges(struct builder *builder)
{
    memset(builder->met, 0xff, builder->graph->nodes * sizeof *builder->met);
    for (uint32_t from = 0, to; from < builder->placed; from = to) {
        const uint32_t mine = builder->cluster[builder->order[from]];
        for (to = from + 1; to < builder->placed && builder->cluster[builder->order[to]] == mine;)
            to++;
        find_best(builder, from, to);
        mark_best(builder, from, to);
    }
}

int cv_clusters_grow(struct cv_clusters *clusters, const struct cv_graph *graph, const cv_id *ids, uint64_t k)
{
    struct builder builder;
    const int error = begin(&builder, clusters, graph, ids);
    for (cv_node node = 0; !error && node < graph->nodes; node++)
        if (builder.cluster[node] == NONE)
            grow(&builder, node, k);
    if (!error)
        prefer_edges(&builder);
    return end(&builder, error);
}

/* ---- files ------------------------------------------------------------------------------------------ */

/* Reads one line, the home of its nodes. Returns their number; 0 after a complaint. */
static uint32_t read_members(struct builder *builder, struct cv_reader *reader, const struct cv_index *index,
                             cv_node *head)
{
    const uint32_t home = builder->clusters->count;
    struct cv_text word;
    uint32_t count = 0;
    while (cv_reader_word(reader, &word)) {
        const cv_id id = cv_reader_number(reader, "id", word);
        const cv_node node = cv_index_find(index, id);
        if (!reader->error && node == CV_NOBODY)
            reader->error = cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is not in the group",
                                        reader->name, reader->line, id);
        else if (!reader->error && builder->home[node] != NONE)
            reader->error = cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is in a cluster already",
                                        reader->name, reader->line, id);
        if (reader->error)
            return 0;
        if (!count++)
            *head = node;
        builder->home[node] = home;
    }
    return count;
}

static int read_clusters(struct builder *builder, struct cv_reader *reader, const struct cv_index *index)
{
    const uint32_t nodes = builder->graph->nodes;
    memset(builder->home, 0xff, nodes * sizeof *builder->home);
    while (cv_reader_line(reader)) {
        cv_node head = 0;
        const uint32_t count = read_members(builder, reader, index, &head);
        if (reader->error)
            return reader->error;
        if (grow(builder, head, 1) < count)
            return cv_complain(reader->complaint,
                               "%s:%" PRIu64 ": the cluster of %" PRIu32 " is not connected inside; expected a way "
                               "from the head to each of its nodes over its nodes",
                               reader->name, reader->line, builder->ids[head]);
    }
    for (cv_node node = 0; node < nodes; node++)
        if (builder->cluster[node] == NONE)
            return cv_complain(reader->complaint, "%s: id %" PRIu32 " is in no cluster", reader->name,
                               builder->ids[node]);
    return 0;
}

int cv_clusters_parse(struct cv_clusters *clusters, const char *text, const struct cv_graph *graph, const cv_id *ids,
                      const struct cv_index *index, const char *name, struct cv_complaint *complaint)
{
    struct cv_reader reader = {.at = text, .name = name, .line = 1, .complaint = complaint};
    struct builder builder;
    int error = begin(&builder, clusters, graph, ids);
    if (!error)
        error = read_clusters(&builder, &reader, index);
    if (!error)
        prefer_edges(&builder);
    return end(&builder, error);
}
