// SPDX-License-Identifier: MIT
/* Draws the rows of a diagram. */
#include "show/text/diagram_draw.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "show/phrase.h"
#include "show/text/diagram_arrows.h"

#define SMALLEST_PITCH 6u /* the least distance of columns: an arrow with a few letters of its kind */
#define LARGEST_PITCH 28u

static const struct {
    const char *glyph;
    unsigned paint;
    const char *meaning;
} marks[] = {
#define X(constant, glyph, colour, meaning) {glyph, colour, meaning},
    DIAGRAM_MARKS(X)
#undef X
};

/* ---- the layout ---- */

static size_t digits(uint64_t number)
{
    return (size_t)snprintf(NULL, 0, "%" PRIu64, number);
}

static void numbered_label(const struct diagram_drawing *drawing, const struct cv_message *message, bool numbers,
                           char label[DIAGRAM_LABEL])
{
    char text[DIAGRAM_LABEL / 2] = "";
    if (numbers)
        cv_content_numbers(drawing->content, message, text, sizeof text);
    snprintf(label, DIAGRAM_LABEL, "%.40s%s%s", cv_content_kind(drawing->content, message), *text ? " " : "", text);
}

void diagram_label(const struct diagram_drawing *drawing, const struct cv_message *message, char label[DIAGRAM_LABEL])
{
    numbered_label(drawing, message, drawing->longest[message->kind] + 2 <= drawing->pitch, label);
}

static size_t measure_labels(struct diagram_drawing *drawing)
{
    size_t longest = 0;
    for (size_t i = 0; i < drawing->rows->count; i++) {
        const struct diagram_row *row = &drawing->rows->rows[i];
        char label[DIAGRAM_LABEL];
        if (row->type != ROW_ARROWS)
            continue;
        numbered_label(drawing, row->content, true, label);
        const size_t columns = cv_canvas_columns(label);
        if (columns > drawing->longest[row->content->kind])
            drawing->longest[row->content->kind] = columns;
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

/* The distance of columns at which all fit and `free` columns remain after the last. */
static size_t fitting_pitch(const struct diagram_drawing *drawing, size_t width, size_t tail)
{
    const uint32_t nodes = drawing->scenario->group.nodes;
    if (width < drawing->first + tail)
        return 0;
    return nodes > 1 ? (width - drawing->first - tail) / (nodes - 1) : width;
}

static bool lay_out(struct diagram_drawing *drawing, size_t width)
{
    const struct diagram_rows *rows = drawing->rows;
    const size_t longest = cv_longest_name(drawing->scenario);
    const uint64_t last = rows->count ? rows->rows[rows->count - 1].time : 0;
    for (size_t i = 0; i < rows->count; i++)
        drawing->sent_times |= rows->rows[i].type == ROW_ARROWS && rows->rows[i].sent + 1 < rows->rows[i].time;
    drawing->gutter = 1 + digits(last) + (drawing->sent_times ? digits(last) + 1 : 0) + 2;
    drawing->first = drawing->gutter + longest / 2;
    size_t wanted = measure_labels(drawing) + 4;
    wanted = wanted < 12 ? 12 : wanted > LARGEST_PITCH ? LARGEST_PITCH : wanted;
    /* Leaves room for words after the last column's marks, unless labels need it. */
    drawing->pitch = fitting_pitch(drawing, width, 11);
    if (drawing->pitch < wanted)
        drawing->pitch = fitting_pitch(drawing, width, longest / 2 + 2);
    drawing->pitch = drawing->pitch < wanted ? drawing->pitch : wanted;
    return drawing->pitch >= SMALLEST_PITCH && drawing->pitch > longest + 1 && width >= drawing->first + 11;
}

static void put_centred(struct diagram_drawing *drawing, cv_node node, const char *text, unsigned paint)
{
    cv_canvas_put(&drawing->canvas, diagram_column(drawing, node) - (cv_canvas_columns(text) - 1) / 2, text, paint);
}

/* ---- parts of a row ---- */

void diagram_draw_line(struct diagram_drawing *drawing, cv_node node, bool crossed, unsigned paint)
{
    const struct diagram_standing *it = &drawing->standing[node];
    const enum diagram_mark bar = it->inside ? MARK_ENTER : it->waiting ? MARK_REQUEST : MARK_NONE;
    const char *plain = it->down ? "┊" : crossed ? "┼" : "│";
    cv_canvas_put(&drawing->canvas, diagram_column(drawing, node), bar ? marks[bar].glyph : plain,
                  bar ? marks[bar].paint : paint);
}

static void draw_lifelines(struct diagram_drawing *drawing)
{
    for (cv_node node = 0; node < drawing->scenario->group.nodes; node++)
        diagram_draw_line(drawing, node, false, PAINT_LINE);
}

/* Updates the state of the nodes: for ends, from the next row on. */
static void note_beginning(struct diagram_drawing *drawing, const struct diagram_cell *cell)
{
    struct diagram_standing *it = &drawing->standing[cell->node];
    if (cell->mark == MARK_RECOVER)
        it->down = false;
    it->waiting += cell->mark == MARK_REQUEST;
    if (cell->mark == MARK_ENTER) {
        it->waiting -= it->waiting > 0;
        it->inside++;
    }
}

static void note_end(struct diagram_drawing *drawing, const struct diagram_cell *cell)
{
    struct diagram_standing *it = &drawing->standing[cell->node];
    if (cell->mark == MARK_CRASH)
        *it = (struct diagram_standing){.down = true};
    if (cell->mark == MARK_LEAVE)
        it->inside -= it->inside > 0;
}

static void draw_time(struct diagram_drawing *drawing, const struct diagram_row *row, const struct diagram_row *before)
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

/* Puts the text right of its mark, or left of it if there is no room, before it is cut. */
void diagram_draw_mark(struct diagram_drawing *drawing, const struct diagram_cell *cell)
{
    struct cv_canvas *canvas = &drawing->canvas;
    const size_t at = diagram_column(drawing, cell->node), columns = cv_canvas_columns(cell->text);
    const bool last = cell->node + 1 == drawing->scenario->group.nodes;
    const size_t room = last ? canvas->width - at - 1 : drawing->pitch - 1;
    cv_canvas_put(canvas, at, marks[cell->mark].glyph, marks[cell->mark].paint);
    if (!columns)
        return;
    if (columns + 1 > room && last && at > columns + 2 && cv_canvas_is_free(canvas, at - columns - 2, at - 1) &&
        columns + 2 < drawing->pitch)
        cv_canvas_put(canvas, at - columns - 1, cell->text, PAINT_PLAIN);
    else if (room > 1 && (cell->mark != MARK_CALL || columns + 1 <= room)) /* half a word says less than the mark */
        cv_canvas_put_within(canvas, at + 2, room - 1, cell->text, PAINT_PLAIN);
}

/* ---- whole lines ---- */

static void phrase_view(const struct diagram_drawing *drawing, FILE *words, const struct cv_event *event)
{
    const uint32_t nodes = drawing->scenario->group.nodes;
    bool *down = calloc(nodes, sizeof *down);
    for (cv_node node = 0; down && node < nodes; node++)
        down[node] = drawing->standing[node].down;
    if (down)
        cv_phrase_members(words, drawing->scenario, event, down);
    free(down);
}

/* Draws a line across with a text, where a partition begins or ends or a view begins. */
static int draw_rule(struct diagram_drawing *drawing, const struct diagram_row *row)
{
    const unsigned paint = row->event->type == CV_EVENT_VIEW ? PAINT_GOOD : PAINT_BAD;
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
    if (row->event->type == CV_EVENT_VIEW)
        phrase_view(drawing, words, row->event);
    fputs(" ", words);
    fclose(words);
    const size_t end = diagram_column(drawing, drawing->scenario->group.nodes - 1) + 1;
    const size_t last = end < drawing->canvas.width ? end : drawing->canvas.width;
    const size_t room = drawing->canvas.width - drawing->first;
    size_t at = cv_canvas_put_within(&drawing->canvas, drawing->first, room, text, paint);
    while (at < last)
        at = cv_canvas_put(&drawing->canvas, at, "╌", paint);
    free(text);
    return 0;
}

static int draw_row(struct diagram_drawing *drawing, const struct diagram_row *row, const struct diagram_row *before)
{
    cv_canvas_clear(&drawing->canvas);
    const struct diagram_cell *cells = drawing->rows->cells + row->cells;
    int error = 0;
    for (size_t i = 0; i < row->cell_count; i++)
        note_beginning(drawing, &cells[i]);
    if (row->type == ROW_RULE) {
        error = draw_rule(drawing, row);
    } else {
        draw_lifelines(drawing);
        for (size_t i = 0; row->type == ROW_MARKS && i < row->cell_count; i++)
            diagram_draw_mark(drawing, &cells[i]);
        if (row->type == ROW_ARROWS)
            diagram_draw_arrows(drawing, row);
    }
    draw_time(drawing, row, before);
    cv_canvas_print(&drawing->canvas, drawing->out);
    for (size_t i = 0; i < row->cell_count; i++)
        note_end(drawing, &cells[i]);
    return error;
}

static void draw_header(struct diagram_drawing *drawing)
{
    const struct cv_group *group = &drawing->scenario->group;
    char text[32];
    cv_canvas_clear(&drawing->canvas);
    cv_canvas_put(&drawing->canvas, drawing->gutter - 3, "t", PAINT_LINE);
    for (cv_node node = 0; node < group->nodes; node++) {
        snprintf(text, sizeof text, "%s", cv_name(drawing->scenario, node).text);
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

/* Draws the state of each node at the end. */
static void draw_footer(struct diagram_drawing *drawing, const struct cv_history *history)
{
    char text[32];
    const bool mutex = drawing->scenario->algorithm->problem == CV_MUTEX;
    cv_canvas_clear(&drawing->canvas);
    for (cv_node node = 0; node < history->node_count; node++) {
        const struct cv_history_node *it = &history->nodes[node];
        if (mutex && !it->down)
            snprintf(text, sizeof text, "%s", it->inside ? marks[MARK_ENTER].glyph : it->waiting ? "░" : " ");
        else if (it->knows && it->leader == cv_view_id(drawing->scenario, node))
            snprintf(text, sizeof text, "★");
        else if (it->knows)
            snprintf(text, sizeof text, "→%s", cv_name_of(drawing->scenario, it->leader).text);
        else if (it->came && !it->down)
            snprintf(text, sizeof text, "=%" PRIu64, it->result);
        else
            snprintf(text, sizeof text, "%s", it->down ? "✗" : cv_view_elects(drawing->scenario) ? "?" : " ");
        put_centred(drawing, node, text, it->down ? PAINT_BAD : it->knows || it->came ? PAINT_STAR : PAINT_PLAIN);
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
}

/* Explains the marks that occur. */
static void draw_legend(struct diagram_drawing *drawing)
{
    bool used[sizeof marks / sizeof *marks] = {false};
    for (size_t i = 0; i < drawing->rows->cell_count; i++)
        used[drawing->rows->cells[i].mark] = true;
    cv_canvas_clear(&drawing->canvas);
    size_t at = drawing->first;
    for (size_t mark = 1; mark < sizeof marks / sizeof *marks; mark++) {
        if (!used[mark] || !*marks[mark].meaning)
            continue;
        if (at + 5 + cv_canvas_columns(marks[mark].meaning) > drawing->canvas.width) {
            cv_canvas_print(&drawing->canvas, drawing->out);
            cv_canvas_clear(&drawing->canvas);
            at = drawing->first;
        }
        at = cv_canvas_put(&drawing->canvas, at, marks[mark].glyph, marks[mark].paint);
        at = cv_canvas_put(&drawing->canvas, at + 1, marks[mark].meaning, PAINT_LINE) + 3;
    }
    cv_canvas_print(&drawing->canvas, drawing->out);
}

int diagram_draw(FILE *out, const struct diagram_rows *rows, const struct cv_content *content,
                 const struct cv_history *history, const struct cv_diagram_options *options)
{
    struct diagram_drawing drawing = {.out = out, .rows = rows, .content = content, .scenario = content->scenario};
    if (!lay_out(&drawing, options->width))
        return CV_EINPUT;
    int error = cv_canvas_init(&drawing.canvas, options->width, options->colour);
    drawing.standing = calloc(history->node_count, sizeof *drawing.standing);
    if (!drawing.standing)
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
    free(drawing.standing);
    return error;
}
