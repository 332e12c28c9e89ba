// SPDX-License-Identifier: MIT
/*
 * Draws messages as arrows. One to several: ●─election─▶│───────────▶│, with a head at each receiver. Several with the
 * same words to one: │◀────ok────●────────────●, with a dot at each sender.
 */
#include "show/text/diagram_arrows.h"

/* A part of an arrow without heads and dots: columns begin .. end-1. */
struct stretch {
    size_t begin, end;
};

static unsigned paint_of(const struct diagram_row *row)
{
    return PAINT_KIND + (unsigned)row->content->kind;
}

static void draw_line(struct diagram_drawing *drawing, struct stretch line, unsigned paint)
{
    for (size_t at = line.begin; at < line.end; at++)
        cv_canvas_put(&drawing->canvas, at, "─", paint);
    for (cv_node node = 0; node < drawing->scenario->group.nodes; node++) {
        const size_t at = diagram_column(drawing, node);
        if (at >= line.begin && at < line.end && !drawing->standing[node].down)
            diagram_draw_line(drawing, node, true, paint);
    }
}

static void draw_head(struct diagram_drawing *drawing, const struct diagram_row *row, const struct diagram_cell *target,
                      bool rightwards)
{
    const size_t at = diagram_column(drawing, target->node);
    const bool lost = target->mark == MARK_LOST;
    cv_canvas_put(&drawing->canvas, rightwards ? at - 1 : at + 1,
                  lost         ? "╳"
                  : rightwards ? "▶"
                               : "◀",
                  lost ? PAINT_BAD : paint_of(row));
}

static void draw_dot(struct diagram_drawing *drawing, const struct diagram_row *row, cv_node node)
{
    cv_canvas_put(&drawing->canvas, diagram_column(drawing, node), drawing->standing[node].down ? "○" : "●",
                  paint_of(row));
}

/* The nearest cell beyond `here` that sends, or that receives. */
static const struct diagram_cell *next_cell(const struct diagram_drawing *drawing, const struct diagram_row *row,
                                            cv_node here, bool rightwards, bool speaks)
{
    const struct diagram_cell *next = NULL;
    for (size_t i = row->cells; i < row->cells + row->cell_count; i++) {
        const struct diagram_cell *cell = &drawing->rows->cells[i];
        const bool ahead = rightwards ? cell->node > here : cell->node < here;
        if (cell->speaks == speaks && ahead &&
            (!next || (rightwards ? cell->node < next->node : cell->node > next->node)))
            next = cell;
    }
    return next;
}

/* Draws the line between two columns, with the head at the receiver. */
static struct stretch between(const struct diagram_drawing *drawing, cv_node from, cv_node to)
{
    const size_t begin = diagram_column(drawing, from), end = diagram_column(drawing, to);
    return from < to ? (struct stretch){begin + 1, end - 1} : (struct stretch){end + 2, begin};
}

/* ---- labels ---- */

/*
 * Is this part a better place for the label? The first part that the label fits into is best. A part that lifelines
 * cross is used up to the first crossing if that is long enough, so that crossings stay visible.
 */
static void note_stretch(const struct diagram_drawing *drawing, struct stretch line, bool begins_left, size_t label,
                         struct stretch *best)
{
    const size_t part = drawing->pitch - 1;
    if (best->end - best->begin >= label || line.end - line.begin <= best->end - best->begin)
        return;
    *best = line;
    if (line.end - line.begin <= part || label > part)
        return;
    if (begins_left)
        best->end = line.begin + part;
    else
        best->begin = line.end - part;
}

static void draw_label(struct diagram_drawing *drawing, const struct diagram_row *row, struct stretch place)
{
    char label[DIAGRAM_LABEL];
    const size_t room = place.end - place.begin;
    diagram_label(drawing, row->content, label);
    const size_t columns = cv_canvas_columns(label) < room ? cv_canvas_columns(label) : room;
    cv_canvas_put_within(&drawing->canvas, place.begin + (room - columns) / 2, room, label, paint_of(row));
}

/* ---- arrows ---- */

static bool hears_itself(const struct diagram_drawing *drawing, const struct diagram_row *row)
{
    for (size_t i = row->cells; !row->gathers && i < row->cells + row->cell_count; i++)
        if (drawing->rows->cells[i].node == row->from)
            return true;
    return false;
}

/* Draws the arrow from the sender in one direction, and remembers the best place for a label. */
static void draw_way(struct diagram_drawing *drawing, const struct diagram_row *row, bool rightwards, size_t label,
                     struct stretch *best)
{
    cv_node here = row->from;
    const struct diagram_cell *next;
    while ((next = next_cell(drawing, row, here, rightwards, false))) {
        struct stretch line = between(drawing, here, next->node);
        draw_line(drawing, line, paint_of(row));
        draw_head(drawing, row, next, rightwards);
        if (here == row->from && rightwards && hears_itself(drawing, row))
            line.begin++; /* there is a mark */
        note_stretch(drawing, line, rightwards, label, best);
        here = next->node;
    }
}

/* Draws one side of a node that receives the same from several: dots on a line with one head. */
static void draw_side(struct diagram_drawing *drawing, const struct diagram_row *row, const struct diagram_cell *target,
                      bool from_left, size_t label)
{
    struct stretch best = {0, 0};
    cv_node here = target->node;
    const struct diagram_cell *next;
    while ((next = next_cell(drawing, row, here, !from_left, true))) {
        const size_t near = diagram_column(drawing, here), far = diagram_column(drawing, next->node);
        struct stretch line = from_left ? (struct stretch){far + 1, near} : (struct stretch){near + 1, far};
        if (here == target->node)
            line = between(drawing, next->node, here);
        draw_line(drawing, line, paint_of(row));
        note_stretch(drawing, line, !from_left, label, &best);
        draw_dot(drawing, row, next->node);
        here = next->node;
    }
    if (here == target->node)
        return;
    draw_head(drawing, row, target, from_left);
    draw_label(drawing, row, best);
}

/* Beside an arrow to others the mark is enough: the label is on the arrow. */
static void draw_to_itself(struct diagram_drawing *drawing, const struct diagram_row *row, const char *label,
                           bool others)
{
    char text[DIAGRAM_LABEL];
    snprintf(text, sizeof text, "↺ %.60s", label);
    cv_canvas_put_within(&drawing->canvas, diagram_column(drawing, row->from) + 1, others ? 1 : drawing->pitch - 2,
                         others ? "↺" : text, paint_of(row));
}

void diagram_draw_arrows(struct diagram_drawing *drawing, const struct diagram_row *row)
{
    const struct diagram_cell *cells = drawing->rows->cells + row->cells;
    struct stretch best = {0, 0};
    char label[DIAGRAM_LABEL];
    diagram_label(drawing, row->content, label);
    const size_t wanted = cv_canvas_columns(label);
    if (row->gathers) {
        draw_side(drawing, row, &cells[0], true, wanted);
        draw_side(drawing, row, &cells[0], false, wanted);
    } else {
        draw_way(drawing, row, true, wanted, &best);
        draw_way(drawing, row, false, wanted, &best);
        draw_dot(drawing, row, row->from);
        if (best.end > best.begin)
            draw_label(drawing, row, best);
    }
    for (size_t i = 0; i < row->cell_count; i++) {
        const bool itself = !row->gathers && cells[i].node == row->from, others = best.end > best.begin;
        if (itself)
            draw_to_itself(drawing, row, label, others);
        if (itself && others && cells[i].mark == MARK_NONE)
            continue; /* the dot is kept */
        if (cells[i].mark == MARK_LOST || (cells[i].mark == MARK_NONE && !cells[i].speaks))
            diagram_draw_line(drawing, cells[i].node, false, PAINT_LINE);
        else if (cells[i].mark != MARK_NONE)
            diagram_draw_mark(drawing, &cells[i]);
    }
}
