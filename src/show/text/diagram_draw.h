// SPDX-License-Identifier: MIT
/* Draws the rows of a diagram. */
#ifndef CONCLAVE_SHOW_TEXT_DIAGRAM_DRAW_H
#define CONCLAVE_SHOW_TEXT_DIAGRAM_DRAW_H

#include "show/text/diagram_rows.h"

#define DIAGRAM_LABEL 96u

struct diagram_standing {
    bool down;
    uint32_t waiting; /* for so many critical sections */
    uint32_t inside;  /* so many critical sections */
};

struct diagram_drawing {
    FILE *out;
    const struct diagram_rows *rows;
    const struct cv_content *content;
    const struct cv_scenario *scenario;
    struct cv_canvas canvas;
    struct diagram_standing *standing; /* per node, at the current row */
    bool sent_times;                   /* show when messages were sent: not all take one tick */
    size_t gutter;                     /* columns for times */
    size_t first;                      /* the column of the first node */
    size_t pitch;                      /* from one node to the next */
    size_t longest[CV_MAX_KINDS];      /* label of each kind, in columns */
};

static inline size_t diagram_column(const struct diagram_drawing *drawing, cv_node node)
{
    return drawing->first + node * drawing->pitch;
}

/* "election 80", or the kind alone if such labels do not fit between two columns. */
void diagram_label(const struct diagram_drawing *drawing, const struct cv_message *message, char label[DIAGRAM_LABEL]);
void diagram_draw_mark(struct diagram_drawing *drawing, const struct diagram_cell *cell);
/* Draws a piece of the node's line: a bar while it waits or is inside. `crossed`: an arrow crosses it. */
void diagram_draw_line(struct diagram_drawing *drawing, cv_node node, bool crossed, unsigned paint);

/* Draws all rows. 0, CV_ENOMEM, or CV_EINPUT if they do not fit the width. */
int diagram_draw(FILE *out, const struct diagram_rows *rows, const struct cv_content *content,
                 const struct cv_history *history, const struct cv_diagram_options *options);

#endif
