// SPDX-License-Identifier: MIT
/* Writes text into a given room, piece by piece. From the first piece that does not fit on there is an ellipsis. */
#ifndef CONCLAVE_CORE_WRITER_H
#define CONCLAVE_CORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct cv_writer {
    char *text; /* always ends with a NUL */
    size_t used, room;
    bool full;
};

/* The room is at least 4 bytes. */
struct cv_writer cv_writer(char *text, size_t room);

void cv_write(struct cv_writer *writer, const char *piece);
__attribute__((format(printf, 2, 3))) void cv_writef(struct cv_writer *writer, const char *format, ...);

#endif
