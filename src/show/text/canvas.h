// SPDX-License-Identifier: MIT
/* One line of the terminal, drawn cell by cell. A cell holds one character, taken to be one column wide. */
#ifndef CONCLAVE_SHOW_TEXT_CANVAS_H
#define CONCLAVE_SHOW_TEXT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cv_paint {
    PAINT_PLAIN,
    PAINT_LINE, /* what is only there for orientation */
    PAINT_STRONG,
    PAINT_STAR,
    PAINT_GOOD,
    PAINT_BAD,
    PAINT_KIND /* and the kinds of messages from here on */
};

struct cv_canvas {
    struct cv_canvas_cell *cells;
    size_t width;
    bool colour;
};

/* 0 or CV_ENOMEM. */
int cv_canvas_init(struct cv_canvas *canvas, size_t width, bool colour);
void cv_canvas_free(struct cv_canvas *canvas);

void cv_canvas_clear(struct cv_canvas *canvas);

/* Puts a text there; what would stand outside is left out. Returns the column behind it. */
size_t cv_canvas_put(struct cv_canvas *canvas, size_t column, const char *text, unsigned paint);

/* The same, but in no more than `room` columns, the last of them "…" if it is too long. */
size_t cv_canvas_put_within(struct cv_canvas *canvas, size_t column, size_t room, const char *text, unsigned paint);

/* Is anything but blanks and lines for orientation in these columns? */
bool cv_canvas_is_free(const struct cv_canvas *canvas, size_t begin, size_t end);

/* Prints the line without the blanks at its end. */
void cv_canvas_print(const struct cv_canvas *canvas, FILE *out);

/* Columns that a text takes. */
size_t cv_canvas_columns(const char *text);

#endif
