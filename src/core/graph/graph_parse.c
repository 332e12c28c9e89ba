// SPDX-License-Identifier: MIT
#include "core/graph/graph_parse.h"

#include "core/graph/graph_build.h"
#include "core/index.h"
#include "core/reader.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- lines ------------------------------------------------------------------------------------------ */

/* One line as written: a and b are ids. */
struct row {
    cv_id a, b;
    uint32_t weight;
};

/* False at the end of the text and at an error. */
static bool next_row(struct cv_reader *reader, struct row *row)
{
    if (!cv_reader_line(reader))
        return false;
    struct cv_text a, b, weight, junk;
    const bool pair = cv_reader_word(reader, &a) && cv_reader_word(reader, &b),
               weighted = pair && cv_reader_word(reader, &weight);
    if (!pair || (weighted && cv_reader_word(reader, &junk))) {
        reader->error =
            cv_complain(reader->complaint, "%s:%" PRIu64 ": expected two ids and perhaps a weight: a b [weight]",
                        reader->name, reader->line);
        return false;
    }
    row->a = cv_reader_number(reader, "id", a);
    row->b = cv_reader_number(reader, "id", b);
    row->weight = weighted ? cv_reader_number_to(reader, "weight", weight, CV_NO_WAY - 1) : 1;
    return reader->error == 0;
}

/* ---- a file's ids ----------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    return (x > y) - (x < y);
}

int cv_graph_ids(const char *text, const char *name, cv_id **ids, uint32_t *nodes, struct cv_complaint *complaint)
{
    struct cv_reader reader = {.at = text, .name = name, .line = 1, .complaint = complaint};
    struct row row;
    cv_id *list = NULL;
    size_t count = 0, room = 0;
    while (next_row(&reader, &row)) {
        if (count == room) {
            room = room ? 2 * room : 64;
            cv_id *larger = realloc(list, room * sizeof *list);
            if (!larger) {
                reader.error = CV_ENOMEM;
                break;
            }
            list = larger;
        }
        list[count++] = row.a;
        list[count++] = row.b;
    }
    if (!reader.error && !list)
        return cv_complain(complaint, "%s has no edges", name);
    if (reader.error) {
        free(list);
        return reader.error;
    }
    qsort(list, count, sizeof *list, by_number);
    uint32_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[i - 1])
            list[distinct++] = list[i];
    *ids = list;
    *nodes = distinct;
    return 0;
}

/* ---- a file's edges --------------------------------------------------------------------------------- */

/* The key of an edge is its line. */
static int read_edges(struct cv_reader *reader, const struct cv_index *index, struct edge_list *edges)
{
    struct row row;
    while (next_row(reader, &row)) {
        const cv_node a = cv_index_find(index, row.a), b = cv_index_find(index, row.b);
        if (a == CV_NOBODY || b == CV_NOBODY)
            return cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is not in the group", reader->name,
                               reader->line, a == CV_NOBODY ? row.a : row.b);
        if (a == b)
            return cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is joined to itself", reader->name,
                               reader->line, row.a);
        edge_list_add(edges, (struct graph_edge){a < b ? a : b, a < b ? b : a, reader->line, row.weight, row.weight});
    }
    return reader->error;
}

static int by_ends_and_line(const void *left, const void *right)
{
    const struct graph_edge *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Complains about the first line that repeats an edge. Leaves the edges sorted. */
static int refuse_repetition(const struct cv_reader *reader, const cv_id *ids, struct edge_list *edges)
{
    const struct graph_edge *first = NULL;
    if (edges->count)
        qsort(edges->list, edges->count, sizeof *edges->list, by_ends_and_line);
    for (uint64_t i = 1; i < edges->count; i++) {
        const struct graph_edge *x = &edges->list[i - 1], *y = &edges->list[i];
        if (x->a == y->a && x->b == y->b && (!first || y->key < first->key))
            first = y;
    }
    if (!first)
        return 0;
    return cv_complain(reader->complaint,
                       "%s:%" PRIu64 ": the edge of %" PRIu32 " and %" PRIu32 " stands in line %" PRIu64 " already",
                       reader->name, first->key, ids[first->a], ids[first->b], first[-1].key);
}

int cv_graph_parse(struct cv_graph *graph, const char *text, const cv_id *ids, uint32_t nodes, const char *name,
                   struct cv_complaint *complaint)
{
    *graph = (struct cv_graph){0};
    struct cv_index index;
    int error = cv_index_make(&index, ids, nodes);
    if (error)
        return error;
    struct cv_reader reader = {.at = text, .name = name, .line = 1, .complaint = complaint};
    struct edge_list edges = {0};
    error = read_edges(&reader, &index, &edges);
    if (!error)
        error = refuse_repetition(&reader, ids, &edges);
    if (!error)
        error = graph_build(graph, nodes, &edges);
    free(edges.list);
    cv_index_free(&index);
    return error;
}
