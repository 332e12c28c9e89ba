// SPDX-License-Identifier: MIT
#include "show/text/summary.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "show/text/canvas.h"

#define MOST_NODES 40u /* rows of the table; of more nodes, the busiest are shown */
#define BUSIEST 20u
#define TEXT 64u

/* ---- messages over time ---- */

/* Prints a line of blocks, as high as the number of messages sent in each span. */
static size_t draw_blocks(struct cv_canvas *canvas, size_t column, const uint64_t *sent, size_t spans, uint64_t most,
                          unsigned paint)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (size_t i = 0; i < spans; i++) {
        const uint64_t height = most ? (uint64_t)((double)sent[i] / (double)most * 8 + 0.5) : 0;
        column = cv_canvas_put(canvas, column, blocks[sent[i] && !height ? 1 : height], paint);
    }
    return column;
}

static void draw_kinds(FILE *out, struct cv_canvas *canvas, const struct cv_scenario *scenario,
                       const struct cv_history *history)
{
    const struct cv_kind *kinds = scenario->algorithm->kinds;
    const size_t spans = (size_t)(history->last / history->span) + 1;
    size_t name_width = 0;
    uint64_t most = 0;
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        const size_t columns = cv_canvas_columns(kinds[kind].name);
        name_width = columns > name_width ? columns : name_width;
        for (size_t i = 0; i < spans; i++)
            most = history->sent[kind][i] > most ? history->sent[kind][i] : most;
    }
    const size_t left = 2 + name_width + 2 + 20 + 2;
    size_t shown = canvas->width > left ? canvas->width - left : 0;
    shown = shown < spans ? shown : spans;
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        char text[TEXT];
        uint64_t total = 0;
        for (size_t i = 0; i < spans; i++)
            total += history->sent[kind][i];
        cv_canvas_clear(canvas);
        snprintf(text, sizeof text, "%" PRIu64, total);
        cv_canvas_put(canvas, 2, kinds[kind].name, PAINT_PLAIN);
        const size_t end = 2 + name_width + 2 + 12;
        cv_canvas_put(canvas, end - cv_canvas_columns(text), text, PAINT_PLAIN);
        draw_blocks(canvas, end + 2, history->sent[kind], shown, most, PAINT_KIND + kind);
        cv_canvas_print(canvas, out);
    }
}

/* ---- what each node did ---- */

static int by_work(const void *one, const void *other, void *history)
{
    const struct cv_history_node *nodes = ((const struct cv_history *)history)->nodes;
    const cv_node a = *(const cv_node *)one, b = *(const cv_node *)other;
    const uint64_t work_a = nodes[a].sent + nodes[a].received, work_b = nodes[b].sent + nodes[b].received;
    return work_a != work_b ? (work_a < work_b) - (work_a > work_b) : (a > b) - (a < b);
}

static void draw_node(FILE *out, struct cv_canvas *canvas, const struct cv_scenario *scenario,
                      const struct cv_history *history, cv_node node)
{
    const struct cv_history_node *it = &history->nodes[node];
    const bool mutex = scenario->algorithm->problem == CV_MUTEX;
    char text[TEXT], leader[TEXT] = "?";
    if (mutex)
        snprintf(leader, sizeof leader, "%" PRIu64, it->entries);
    else if (!cv_view_elects(scenario) && !it->down)
        snprintf(leader, sizeof leader, it->came ? "%" PRIu64 : "-", it->result);
    else if (it->down)
        snprintf(leader, sizeof leader, "✗");
    else if (it->knows)
        snprintf(leader, sizeof leader, "%s%s", it->leader == cv_view_id(scenario, node) ? "★ " : "",
                 cv_name_of(scenario, it->leader).text);
    cv_canvas_clear(canvas);
    snprintf(text, sizeof text, "%10s  %10" PRIu64 "  %10" PRIu64, cv_name(scenario, node).text, it->sent,
             it->received);
    cv_canvas_put(canvas, 2, text, PAINT_PLAIN);
    cv_canvas_put(canvas, 48 - cv_canvas_columns(leader), leader, it->knows ? PAINT_STAR : PAINT_PLAIN);
    size_t at = 50;
    if (it->crashed != CV_NEVER) {
        snprintf(text, sizeof text, it->crashed ? "crashed at %" PRIu64 : "down from the start", it->crashed);
        at = cv_canvas_put(canvas, at, text, PAINT_BAD);
    }
    if (it->recovered != CV_NEVER) {
        snprintf(text, sizeof text, ", back at %" PRIu64, it->recovered);
        cv_canvas_put(canvas, at, text, PAINT_GOOD);
    }
    cv_canvas_print(canvas, out);
}

static int draw_nodes(FILE *out, struct cv_canvas *canvas, const struct cv_scenario *scenario,
                      const struct cv_history *history)
{
    const uint32_t nodes = history->node_count;
    const bool all = nodes <= MOST_NODES;
    cv_node *order = malloc(nodes * sizeof *order);
    if (!order)
        return CV_ENOMEM;
    for (cv_node node = 0; node < nodes; node++)
        order[node] = node;
    if (!all)
        qsort_r(order, nodes, sizeof *order, by_work, (void *)(uintptr_t)history);
    cv_canvas_clear(canvas);
    cv_canvas_put(canvas, 2, "      node        sent    received", PAINT_STRONG);
    cv_canvas_put(canvas, 41,
                  scenario->algorithm->problem == CV_MUTEX ? "entries"
                  : cv_view_elects(scenario)               ? " leader"
                                                           : " result",
                  PAINT_STRONG);
    cv_canvas_print(canvas, out);
    for (uint32_t i = 0; i < (all ? nodes : BUSIEST); i++)
        draw_node(out, canvas, scenario, history, order[i]);
    if (!all) {
        char text[TEXT];
        snprintf(text, sizeof text, "and %" PRIu32 " nodes that sent and heard no more", nodes - BUSIEST);
        cv_canvas_clear(canvas);
        cv_canvas_put(canvas, 2, text, PAINT_LINE);
        cv_canvas_print(canvas, out);
    }
    free(order);
    return 0;
}

int cv_summary_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, unsigned width,
                     bool colour)
{
    struct cv_canvas canvas;
    char text[2 * TEXT];
    if (cv_canvas_init(&canvas, width, colour))
        return CV_ENOMEM;
    cv_canvas_clear(&canvas);
    snprintf(text, sizeof text,
             "Too large to draw in %u columns; messages over time, %" PRIu64 " tick%s a block:", width, history->span,
             history->span == 1 ? "" : "s");
    cv_canvas_put(&canvas, 0, text, PAINT_PLAIN);
    cv_canvas_print(&canvas, out);
    draw_kinds(out, &canvas, scenario, history);
    const int error = draw_nodes(out, &canvas, scenario, history);
    cv_canvas_free(&canvas);
    return error;
}
