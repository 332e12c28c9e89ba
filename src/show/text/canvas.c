// SPDX-License-Identifier: MIT
#include "show/text/canvas.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

struct cv_canvas_cell {
    char glyph[5]; /* a character of UTF-8 */
    unsigned paint;
};

int cv_canvas_init(struct cv_canvas *canvas, size_t width, bool colour)
{
    *canvas = (struct cv_canvas){.width = width, .colour = colour};
    canvas->cells = calloc(width + 1, sizeof *canvas->cells);
    return canvas->cells ? 0 : CV_ENOMEM;
}

void cv_canvas_free(struct cv_canvas *canvas)
{
    free(canvas->cells);
    *canvas = (struct cv_canvas){0};
}

void cv_canvas_clear(struct cv_canvas *canvas)
{
    memset(canvas->cells, 0, canvas->width * sizeof *canvas->cells);
}

/* The bytes of the character that begins there; a stray byte counts as one. */
static size_t character_bytes(const char *text)
{
    size_t bytes = 1;
    while (bytes < 4 && ((unsigned char)text[bytes] & 0xc0u) == 0x80u)
        bytes++;
    return bytes;
}

size_t cv_canvas_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text += character_bytes(text))
        columns++;
    return columns;
}

static size_t put(struct cv_canvas *canvas, size_t column, size_t end, const char *text, unsigned paint)
{
    for (; *text && column < end; column++) {
        const size_t bytes = character_bytes(text);
        if (column < canvas->width) {
            struct cv_canvas_cell *cell = &canvas->cells[column];
            memcpy(cell->glyph, text, bytes);
            cell->glyph[bytes] = '\0';
            if ((unsigned char)cell->glyph[0] < 0x20)
                memcpy(cell->glyph, " ", 2);
            cell->paint = paint;
        }
        text += bytes;
    }
    return column;
}

size_t cv_canvas_put(struct cv_canvas *canvas, size_t column, const char *text, unsigned paint)
{
    return put(canvas, column, SIZE_MAX, text, paint);
}

size_t cv_canvas_put_within(struct cv_canvas *canvas, size_t column, size_t room, const char *text, unsigned paint)
{
    if (!room)
        return column;
    if (cv_canvas_columns(text) <= room)
        return cv_canvas_put(canvas, column, text, paint);
    put(canvas, column, column + room - 1, text, paint);
    return cv_canvas_put(canvas, column + room - 1, "…", paint);
}

bool cv_canvas_is_free(const struct cv_canvas *canvas, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (i >= canvas->width || (canvas->cells[i].glyph[0] && canvas->cells[i].paint != PAINT_LINE))
            return false;
    return true;
}

static const char *colour_of(unsigned paint)
{
    static const char *const fixed[] = {"", "\033[2m", "\033[1m", "\033[1;33m", "\033[1;32m", "\033[1;31m"};
    static const char *const kinds[] = {"\033[36m", "\033[35m", "\033[34m", "\033[33m", "\033[32m", "\033[31m"};
    return paint < PAINT_KIND ? fixed[paint] : kinds[(paint - PAINT_KIND) % (sizeof kinds / sizeof *kinds)];
}

void cv_canvas_print(const struct cv_canvas *canvas, FILE *out)
{
    size_t end = canvas->width;
    unsigned paint = PAINT_PLAIN;
    while (end && (!canvas->cells[end - 1].glyph[0] || strcmp(canvas->cells[end - 1].glyph, " ") == 0))
        end--;
    for (size_t i = 0; i < end; i++) {
        const struct cv_canvas_cell *cell = &canvas->cells[i];
        if (canvas->colour && cell->paint != paint) {
            if (paint != PAINT_PLAIN)
                fputs("\033[0m", out);
            fputs(colour_of(cell->paint), out);
            paint = cell->paint;
        }
        fputs(cell->glyph[0] ? cell->glyph : " ", out);
    }
    fputs(paint == PAINT_PLAIN ? "\n" : "\033[0m\n", out);
}
