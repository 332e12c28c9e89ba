// SPDX-License-Identifier: MIT
#include "check/search/parent_log.h"

#include <stdlib.h>

#define READ_RECORDS ((uint64_t)1 << 16)

void parent_log_init(struct parent_log *log, struct spill_place *place, bool wide)
{
    log->record_bytes = parent_record_bytes(wide);
    spill_init(&log->spill, place);
    pthread_mutex_init(&log->lock, NULL);
}

void parent_log_free(struct parent_log *log)
{
    if (!log->spill.place)
        return;
    spill_close(&log->spill);
    pthread_mutex_destroy(&log->lock);
    *log = (struct parent_log){.spill.file = -1};
}

void parent_log_flush(struct parent_log *log, struct parent_buffer *buffer)
{
    pthread_mutex_lock(&log->lock);
    if (buffer->used)
        spill_append(&log->spill, buffer->bytes, buffer->used);
    pthread_mutex_unlock(&log->lock);
    buffer->used = 0;
}

/* ---- ancestors ---- */

/* A way back to the initial state. */
struct way {
    uint64_t *list;
    uint32_t count; /* of the states found so far */
    uint32_t level; /* of the state whose parent is sought */
};

/* The level as far as a record can tell it. */
static uint32_t told_level(uint32_t level)
{
    return level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
}

static uint32_t level_of(const struct parent_record *record)
{
    return (uint32_t)(record->info & 0xffff) - 1;
}

static bool is_state(const struct parent_record *record, uint64_t fingerprint, uint32_t level)
{
    return ((record->fingerprint ^ fingerprint) & TABLE_LOWER_48) == 0 && level_of(record) == told_level(level);
}

/*
 * Reads the log once, backwards; false if it cannot be read. A parent was written before its children, unless the
 * states come from a checkpoint.
 */
static bool read_back(struct parent_log *log, struct way *way, unsigned char *bytes)
{
    const size_t size = log->record_bytes;
    uint64_t left = log->spill.bytes / size;
    while (left > 0 && way->level > 0) {
        const uint64_t count = left < READ_RECORDS ? left : READ_RECORDS;
        left -= count;
        if (!spill_read(&log->spill, left * size, bytes, count * size))
            return false;
        for (uint64_t i = count; i-- > 0 && way->level > 0;) {
            struct parent_record record = {0};
            memcpy(&record, bytes + i * size, size);
            if (is_state(&record, way->list[way->count - 1], way->level)) {
                way->list[way->count++] = record.info >> 16;
                way->level--;
            }
        }
    }
    return true;
}

bool parent_log_ancestors(struct parent_log *log, uint64_t fingerprint, uint32_t level, uint64_t *list)
{
    unsigned char *bytes = malloc(READ_RECORDS * log->record_bytes);
    struct way way = {.list = list, .count = 1, .level = level};
    bool found = bytes;
    list[0] = fingerprint;
    while (found && way.level > 0) {
        const uint32_t before = way.level;
        found = read_back(log, &way, bytes) && way.level < before;
    }
    free(bytes);
    return found;
}

/* Looks at some records, the last one first. True: there is no need to look at those before. */
static bool look_at(const struct parent_log *log, const unsigned char *bytes, uint64_t count,
                    struct parent_search *search, uint64_t fingerprint, uint32_t level, bool everywhere)
{
    for (; count > 0; count--) {
        struct parent_record record = {0};
        memcpy(&record, bytes + (count - 1) * log->record_bytes, log->record_bytes);
        if (!everywhere && level_of(&record) < told_level(level))
            return true;
        search->left--;
        if (is_state(&record, fingerprint, level)) {
            search->found = true;
            search->parent = record.info >> 16;
            return true;
        }
    }
    return false;
}

bool parent_log_find(struct parent_log *log, struct parent_search *search, uint64_t fingerprint, uint32_t level,
                     bool everywhere)
{
    unsigned char *bytes = malloc(READ_RECORDS * log->record_bytes);
    bool read = bytes, done = false;
    search->found = false;
    if (everywhere)
        search->left = log->spill.bytes / log->record_bytes;
    while (read && !done && search->left > 0) {
        const uint64_t count = search->left < READ_RECORDS ? search->left : READ_RECORDS;
        read = spill_read(&log->spill, (search->left - count) * log->record_bytes, bytes, count * log->record_bytes);
        done = !read || look_at(log, bytes, count, search, fingerprint, level, everywhere);
    }
    free(bytes);
    return read;
}
