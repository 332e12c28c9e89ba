// SPDX-License-Identifier: MIT
/* Draws the rows of a diagram. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "view/canvas.h"
#include "view/diagram_rows.h"
#include "view/phrase.h"

#define SMALLEST_PITCH 6u /* from one column to the next: an arrow with some letters of its kind */
#define LARGEST_PITCH 24u
#define TEXT 96u

static const struct {
    const char *glyph;
    unsigned paint;
    const char *meaning;
} marks[] = {
#define X(constant, glyph, colour, meaning) {glyph, colour, meaning},
    DIAGRAM_MARKS(X)
#undef X
};

struct drawing {
    FILE *out;
    const struct diagram_rows *rows;
    const struct cv_content *content;
    const struct cv_scenario *scenario;
    struct cv_canvas canvas;
    bool *down;      /* per node, as time goes */
    bool sent_times; /* tell when a message was sent: not all take one tick */
    size_t gutter, first, pitch;
};

static size_t column(const struct drawing *drawing, cv_node node)
{
    return drawing->first + node * drawing->pitch;
}

/* ---- the layout ---- */

static size_t digits(uint64_t number)
{
    return (size_t)snprintf(NULL, 0, "%" PRIu64, number);
}

/* "election 80", or the kind alone. */
static void make_label(const struct drawing *drawing, const struct cv_message *message, bool numbers, char label[TEXT])
{
    char text[TEXT / 2] = "";
    if (numbers)
        cv_content_numbers(drawing->content, message, text, sizeof text);
    snprintf(label, TEXT, "%.40s%s%s", cv_view_kind(drawing->scenario, message), *text ? " " : "", text);
}

static size_t longest_label(const struct drawing *drawing)
{
    size_t longest = 0;
    for (size_t i = 0; i < drawing->rows->count; i++) {
        char label[TEXT];
        if (drawing->rows->rows[i].type != ROW_ARROWS)
            continue;
        make_label(drawing, drawing->rows->rows[i].content, true, label);
        const size_t columns = cv_canvas_columns(label);
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

static bool lay_out(struct drawing *drawing, size_t width)
{
    const struct cv_group *group = &drawing->scenario->group;
    const struct diagram_rows *rows = drawing->rows;
    const uint64_t last = rows->count ? rows->rows[rows->count - 1].time : 0;
    cv_id highest = 0;
    for (cv_node node = 0; node < group->nodes; node++)
        highest = group->ids[node] > highest ? group->ids[node] : highest;
    for (size_t i = 0; i < rows->count; i++)
        drawing->sent_times |= rows->rows[i].type == ROW_ARROWS && rows->rows[i].sent + 1 < rows->rows[i].time;
    drawing->gutter = 1 + digits(last) + (drawing->sent_times ? digits(last) + 1 : 0) + 2;
    drawing->first = drawing->gutter + digits(highest) / 2;
    const size_t tail = digits(highest) / 2 + 1;
    if (width < drawing->first + tail + 8)
        return false;
    size_t pitch = longest_label(drawing) + 4;
    pitch = pitch < 12 ? 12 : pitch > LARGEST_PITCH ? LARGEST_PITCH : pitch;
    if (group->nodes > 1 && pitch > (width - drawing->first - tail) / (group->nodes - 1))
        pitch = (width - drawing->first - tail) / (group->nodes - 1);
    drawing->pitch = pitch;
    return pitch >= SMALLEST_PITCH && pitch > digits(highest);
}

static void put_centred(struct drawing *drawing, cv_node node, const char *text, unsigned paint)
{
    cv_canvas_put(&drawing->canvas, column(drawing, node) - (cv_canvas_columns(text) - 1) / 2, text, paint);
}

/* ---- parts of a row ---- */

static void draw_lifelines(struct drawing *drawing)
{
    for (cv_node node = 0; node < drawing->scenario->group.nodes; node++)
        cv_canvas_put(&drawing->canvas, column(drawing, node), drawing->down[node] ? "┊" : "│", PAINT_LINE);
}

static void draw_time(struct drawing *drawing, const struct diagram_row *row, const struct diagram_row *before)
{
    char text[64];
    if (drawing->sent_times && row->type == ROW_ARROWS && row->sent < row->time)
        snprintf(text, sizeof text, "%" PRIu64 "→%" PRIu64, row->sent, row->time);
    else if (!before || before->time != row->time || drawing->sent_times)
        snprintf(text, sizeof text, "%" PRIu64, row->time);
    else
        return;
    cv_canvas_put(&drawing->canvas, drawing->gutter - 2 - cv_canvas_columns(text), text, PAINT_PLAIN);
}

/* The text goes to the right of its mark, or to the left where there is no room, before it is cut short. */
static void draw_mark(struct drawing *drawing, const struct diagram_cell *cell)
{
    struct cv_canvas *canvas = &drawing->canvas;
    const size_t at = column(drawing, cell->node), columns = cv_canvas_columns(cell->text);
    const bool last = cell->node + 1 == drawing->scenario->group.nodes;
    const size_t room = last ? canvas->width - at - 1 : drawing->pitch - 1;
    cv_canvas_put(canvas, at, marks[cell->mark].glyph, marks[cell->mark].paint);
    if (!columns)
        return;
    if (columns + 1 > room && last && at > columns + 2 && cv_canvas_is_free(canvas, at - columns - 1, at - 1) &&
        columns + 2 < drawing->pitch)
        cv_canvas_put(canvas, at - columns - 1, cell->text, PAINT_PLAIN);
    else if (room > 1)
        cv_canvas_put_within(canvas, at + 2, room - 1, cell->text, PAINT_PLAIN);
}

/* ---- arrows ---- */

/* A stretch of an arrow without heads: columns begin .. end-1. */
struct stretch {
    size_t begin, end;
};

static void draw_line(struct drawing *drawing, size_t begin, size_t end, unsigned paint)
{
    for (size_t at = begin; at < end; at++)
        cv_canvas_put(&drawing->canvas, at, "─", paint);
    for (cv_node node = 0; node < drawing->scenario->group.nodes; node++)
        if (column(drawing, node) >= begin && column(drawing, node) < end && !drawing->down[node])
            cv_canvas_put(&drawing->canvas, column(drawing, node), "┼", paint);
}

/*
 * Is this line a better place for the label? The first that it fits into is. Where lifelines cross it, the part next
 * to the sender is enough if it is long enough, so that the crossings stay visible.
 */
static void note_stretch(const struct drawing *drawing, struct stretch line, bool rightwards, size_t label,
                         struct stretch *best)
{
    const size_t part = drawing->pitch - 1;
    if (best->end - best->begin >= label || line.end - line.begin <= best->end - best->begin)
        return;
    *best = line;
    if (line.end - line.begin <= part || label > part)
        return;
    if (rightwards)
        best->end = line.begin + part;
    else
        best->begin = line.end - part;
}

/* One way from the sender: from target to target, as far as there are any. Remembers the best place for a label. */
static void draw_way(struct drawing *drawing, const struct diagram_row *row, bool rightwards, size_t label,
                     struct stretch *best)
{
    const struct diagram_cell *cells = drawing->rows->cells + row->cells;
    const unsigned paint = PAINT_KIND + (unsigned)row->content->kind;
    cv_node here = row->from;
    for (;;) {
        const struct diagram_cell *next = NULL;
        for (size_t i = 0; i < row->cell_count; i++) {
            const cv_node node = cells[i].node;
            const bool ahead = rightwards ? node > here : node < here;
            if (ahead && (!next || (rightwards ? node < next->node : node > next->node)))
                next = &cells[i];
        }
        if (!next)
            return;
        const size_t left = column(drawing, rightwards ? here : next->node);
        const size_t right = column(drawing, rightwards ? next->node : here);
        const struct stretch line = {left + 1 + !rightwards, right - rightwards};
        draw_line(drawing, line.begin, line.end, paint);
        const bool lost = next->mark == MARK_LOST;
        cv_canvas_put(&drawing->canvas, rightwards ? right - 1 : left + 1,
                      lost         ? "╳"
                      : rightwards ? "▶"
                                   : "◀",
                      lost ? PAINT_BAD : paint);
        note_stretch(drawing, line, rightwards, label, best);
        here = next->node;
    }
}

static void draw_label(struct drawing *drawing, const struct cv_message *message, struct stretch place)
{
    char label[TEXT];
    const size_t room = place.end - place.begin;
    make_label(drawing, message, true, label);
    if (cv_canvas_columns(label) > room)
        make_label(drawing, message, false, label);
    const size_t columns = cv_canvas_columns(label) < room ? cv_canvas_columns(label) : room;
    cv_canvas_put_within(&drawing->canvas, place.begin + (room - columns) / 2, room, label,
                         PAINT_KIND + (unsigned)message->kind);
}

static void draw_arrows(struct drawing *drawing, const struct diagram_row *row)
{
    struct stretch best = {0, 0};
    char label[TEXT];
    const unsigned paint = PAINT_KIND + (unsigned)row->content->kind;
    make_label(drawing, row->content, true, label);
    const size_t wanted = cv_canvas_columns(label);
    draw_way(drawing, row, true, wanted, &best);
    draw_way(drawing, row, false, wanted, &best);
    for (size_t i = row->cells; i < row->cells + row->cell_count; i++) {
        const struct diagram_cell *cell = &drawing->rows->cells[i];
        if (cell->node == row->from) { /* to itself */
            char text[TEXT];
            snprintf(text, sizeof text, "↺ %.60s", label);
            const size_t at = column(drawing, cell->node) + 1;
            cv_canvas_put_within(&drawing->canvas, at, drawing->pitch - 2, text, paint);
        }
        const bool down = drawing->down[cell->node];
        if (cell->mark == MARK_LOST || cell->mark == MARK_NONE)
            cv_canvas_put(&drawing->canvas, column(drawing, cell->node), down ? "┊" : "│", PAINT_LINE);
        else
            draw_mark(drawing, cell);
    }
    cv_canvas_put(&drawing->canvas, column(drawing, row->from), drawing->down[row->from] ? "○" : "●", paint);
    if (best.end > best.begin)
        draw_label(drawing, row->content, best);
}

/* ---- whole lines ---- */

/* A partition begins or ends: a line across, with words in it. */
static int draw_rule(struct drawing *drawing, const struct diagram_row *row)
{
    char *text = NULL;
    size_t size;
    FILE *words = open_memstream(&text, &size);
    if (!words)
        return CV_ENOMEM;
    const struct cv_partition *partition = cv_phrase_partition(drawing->scenario, row->event);
    fputs("╌╌ ", words);
    cv_phrase_event(words, drawing->scenario, row->event);
    if (row->event->type == CV_EVENT_CUT && partition) {
        fputs(": ", words);
        cv_phrase_sides(words, drawing->scenario, partition);
    }
    fputs(" ", words);
    fclose(words);
    const size_t end = column(drawing, drawing->scenario->group.nodes - 1) + 1;
    const size_t last = end < drawing->canvas.width ? end : drawing->canvas.width;
    const size_t room = drawing->canvas.width - drawing->gutter;
    size_t at = cv_canvas_put_within(&drawing->canvas, drawing->gutter, room, text, PAINT_BAD);
    while (at < last)
        at = cv_canvas_put(&drawing->canvas, at, "╌", PAINT_BAD);
    free(text);
    return 0;
}

static int draw_row(struct drawing *drawing, const struct diagram_row *row, const struct diagram_row *before)
{
    cv_canvas_clear(&drawing->canvas);
    const struct diagram_cell *cells = drawing->rows->cells + row->cells;
    int error = 0;
    for (size_t i = 0; i < row->cell_count; i++)
        if (cells[i].mark == MARK_RECOVER)
            drawing->down[cells[i].node] = false;
    if (row->type == ROW_RULE) {
        error = draw_rule(drawing, row);
    } else {
        draw_lifelines(drawing);
        for (size_t i = 0; row->type == ROW_MARKS && i < row->cell_count; i++)
            draw_mark(drawing, &cells[i]);
        if (row->type == ROW_ARROWS)
            draw_arrows(drawing, row);
    }
    draw_time(drawing, row, before);
    cv_canvas_print(&drawing->canvas, drawing->out);
    for (size_t i = 0; i < row->cell_count; i++)
        if (cells[i].mark == MARK_CRASH)
            drawing->down[cells[i].node] = true;
    return error;
}

static void draw_header(struct drawing *drawing)
{
    const struct cv_group *group = &drawing->scenario->group;
    char text[32];
    cv_canvas_clear(&drawing->canvas);
    cv_canvas_put(&drawing->canvas, drawing->gutter - 3, "t", PAINT_LINE);
    for (cv_node node = 0; node < group->nodes; node++) {
        snprintf(text, sizeof text, "%" PRIu32, group->ids[node]);
        put_centred(drawing, node, text, PAINT_STRONG);
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
    if (!group->attributes)
        return;
    cv_canvas_clear(&drawing->canvas);
    for (cv_node node = 0; node < group->nodes; node++) {
        snprintf(text, sizeof text, "(%" PRIu32 ")", group->attributes[node]);
        put_centred(drawing, node, text, PAINT_LINE);
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
}

/* Where everybody stands in the end. */
static void draw_footer(struct drawing *drawing, const struct cv_history *history)
{
    char text[32];
    cv_canvas_clear(&drawing->canvas);
    for (cv_node node = 0; node < history->node_count; node++) {
        const struct cv_history_node *it = &history->nodes[node];
        if (it->knows && it->leader == cv_view_id(drawing->scenario, node))
            snprintf(text, sizeof text, "★");
        else if (it->knows)
            snprintf(text, sizeof text, "→%" PRIu32, it->leader);
        else
            snprintf(text, sizeof text, "%s", it->down ? "✗" : "?");
        put_centred(drawing, node, text, it->down ? PAINT_BAD : it->knows ? PAINT_STAR : PAINT_PLAIN);
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
}

/* Only what occurs is explained. */
static void draw_legend(struct drawing *drawing)
{
    bool used[sizeof marks / sizeof *marks] = {false};
    for (size_t i = 0; i < drawing->rows->cell_count; i++)
        used[drawing->rows->cells[i].mark] = true;
    cv_canvas_clear(&drawing->canvas);
    size_t at = drawing->gutter;
    for (size_t mark = 1; mark < sizeof marks / sizeof *marks; mark++) {
        if (!used[mark])
            continue;
        if (at + 5 + cv_canvas_columns(marks[mark].meaning) > drawing->canvas.width) {
            cv_canvas_print(&drawing->canvas, drawing->out);
            cv_canvas_clear(&drawing->canvas);
            at = drawing->gutter;
        }
        at = cv_canvas_put(&drawing->canvas, at, marks[mark].glyph, marks[mark].paint);
        at = cv_canvas_put(&drawing->canvas, at + 1, marks[mark].meaning, PAINT_LINE) + 3;
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
}

int diagram_draw(FILE *out, const struct diagram_rows *rows, const struct cv_content *content,
                 const struct cv_history *history, const struct cv_diagram_options *options)
{
    struct drawing drawing = {.out = out, .rows = rows, .content = content, .scenario = content->scenario};
    if (!lay_out(&drawing, options->width))
        return CV_EINPUT;
    int error = cv_canvas_init(&drawing.canvas, options->width, options->colour);
    drawing.down = calloc(history->node_count, sizeof *drawing.down);
    if (!drawing.down)
        error = CV_ENOMEM;
    if (!error)
        draw_header(&drawing);
    for (size_t i = 0; !error && i < rows->count; i++)
        error = draw_row(&drawing, &rows->rows[i], i ? &rows->rows[i - 1] : NULL);
    if (!error) {
        draw_footer(&drawing, history);
        draw_legend(&drawing);
    }
    cv_canvas_free(&drawing.canvas);
    free(drawing.down);
    return error;
}
