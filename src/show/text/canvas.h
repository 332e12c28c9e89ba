// SPDX-License-Identifier: MIT
/* One line of the terminal, drawn cell by cell. A cell holds one character, taken to be one column wide. */
#ifndef CONCLAVE_SHOW_TEXT_CANVAS_H
#define CONCLAVE_SHOW_TEXT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cv_paint {
    PAINT_PLAIN,
    PAINT_LINE, /* lifelines and other lines for orientation */
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

/* Puts a text there and cuts what does not fit. Returns the column after it. */
size_t cv_canvas_put(struct cv_canvas *canvas, size_t column, const char *text, unsigned paint);

/* The same, but in no more than `room` columns, the last of them "…" if it is too long. */
size_t cv_canvas_put_within(struct cv_canvas *canvas, size_t column, size_t room, const char *text, unsigned paint);

/* Do these columns hold anything but blanks and lifelines? */
bool cv_canvas_is_free(const struct cv_canvas *canvas, size_t begin, size_t end);

/* Prints the line without the blanks at its end. */
void cv_canvas_print(const struct cv_canvas *canvas, FILE *out);

/* The width of a text in columns. */
size_t cv_canvas_columns(const char *text);

#endif
