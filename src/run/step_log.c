// SPDX-License-Identifier: MIT
#include "run/step_log.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void *reserve(struct step_log *log, size_t bytes)
{
    if (log->room - log->used < bytes) {
        size_t room = log->room ? log->room : 4096;
        while (room - log->used < bytes)
            room *= 2;
        unsigned char *larger = realloc(log->bytes, room);
        if (!larger) {
            log->out_of_memory = true;
            return NULL;
        }
        log->bytes = larger;
        log->room = room;
    }
    void *place = log->bytes + log->used;
    log->used += bytes;
    return place;
}

void log_begin(struct step_log *log, uint64_t ns)
{
    log->used = 0;
    struct log_step *step = reserve(log, sizeof *step);
    if (step)
        *step = (struct log_step){.ns = ns};
}

struct log_record *log_add(struct step_log *log, const struct log_record *record, const void *content, size_t bytes)
{
    const size_t padded = (bytes + 7) / 8 * 8;
    unsigned char *place = log->used ? reserve(log, sizeof *record + padded) : NULL;
    if (!place)
        return NULL;
    struct log_record *added = (void *)place;
    *added = *record;
    added->bytes = (uint32_t)padded;
    memset(place + sizeof *record, 0, padded);
    if (bytes)
        memcpy(place + sizeof *record, content, bytes);
    struct log_step *step = (void *)log->bytes;
    step->records++;
    step->bytes += (uint32_t)(sizeof *record + padded);
    return added;
}

bool log_is_empty(const struct step_log *log)
{
    return log->used <= sizeof(struct log_step);
}

int log_write(const struct step_log *log, int file)
{
    for (size_t at = 0; at < log->used;) {
        const ssize_t written = write(file, log->bytes + at, log->used - at);
        if (written < 0 && errno != EINTR)
            return -1;
        at += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

void log_free(struct step_log *log)
{
    free(log->bytes);
    *log = (struct step_log){0};
}
