// SPDX-License-Identifier: MIT
#include "core/writer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_PIECE 128u

static const char ellipsis[] = "…";

struct cv_writer cv_writer(char *text, size_t room)
{
    assert(room >= sizeof ellipsis);
    text[0] = '\0';
    return (struct cv_writer){.text = text, .room = room};
}

void cv_write(struct cv_writer *writer, const char *piece)
{
    const size_t length = strlen(piece);
    if (writer->full)
        return;
    writer->full = writer->used + length + sizeof ellipsis > writer->room;
    if (writer->full) {
        memcpy(writer->text + writer->used, ellipsis, sizeof ellipsis);
        return;
    }
    memcpy(writer->text + writer->used, piece, length + 1);
    writer->used += length;
}

void cv_writef(struct cv_writer *writer, const char *format, ...)
{
    char piece[MOST_PIECE];
    va_list values;
    va_start(values, format);
    vsnprintf(piece, sizeof piece, format, values);
    va_end(values);
    cv_write(writer, piece);
}
