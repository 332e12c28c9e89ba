// SPDX-License-Identifier: MIT
/*
 * All states of a search on disk, level by level, each with its parent: what a compact table leaves out. Only a
 * counterexample needs it, and then the file is read once, from its end to its beginning.
 */
#ifndef CONCLAVE_CHECK_SEARCH_PARENT_LOG_H
#define CONCLAVE_CHECK_SEARCH_PARENT_LOG_H

#include <pthread.h>
#include <string.h>

#include "check/search/spill.h"
#include "check/state/table.h"

struct parent_record {
    uint64_t fingerprint; /* as the table holds it */
    uint64_t info;        /* as in struct slot */
    uint64_t second;      /* the second half of the fingerprint: in the file only if the table has it */
};

/* The bytes of a record in the file. */
static inline size_t parent_record_bytes(bool wide)
{
    return wide ? sizeof(struct parent_record) : offsetof(struct parent_record, second);
}

/* The newest records of a thread. */
struct parent_buffer {
    size_t used;
    unsigned char bytes[(size_t)1 << 16];
};

struct parent_log {
    struct spill spill;
    size_t record_bytes;
    pthread_mutex_t lock;
};

void parent_log_init(struct parent_log *log, struct spill_place *place, bool wide);
void parent_log_free(struct parent_log *log);

/* Several threads may add at once, each with its own buffer. What cannot be written is noted at the place. */
void parent_log_flush(struct parent_log *log, struct parent_buffer *buffer);

static inline void parent_log_copy(struct parent_log *log, struct parent_buffer *buffer,
                                   const struct parent_record *record)
{
    memcpy(buffer->bytes + buffer->used, record, log->record_bytes);
    buffer->used += log->record_bytes;
    if (buffer->used + log->record_bytes > sizeof buffer->bytes)
        parent_log_flush(log, buffer);
}

static inline void parent_log_add(struct parent_log *log, struct parent_buffer *buffer, struct fingerprint fingerprint,
                                  uint64_t parent, uint32_t level)
{
    level = level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
    const struct parent_record record = {table_wanted(fingerprint), table_info(parent, level), fingerprint.half[1]};
    parent_log_copy(log, buffer, &record);
}

/*
 * Lists a state of that level and its ancestors, up to the initial state, by the lower 48 bits of their fingerprints.
 * False if the log cannot be read, or lacks one of them. `list` has room for level + 1.
 */
bool parent_log_ancestors(struct parent_log *log, uint64_t fingerprint, uint32_t level, uint64_t *list);

/* Where the search of a way is, in a log that has some states of it. Other ranks have the others. */
struct parent_search {
    uint64_t left;   /* records that are still to be read, from the end to the beginning */
    bool found;      /* this log has the state */
    uint64_t parent; /* of that state, if so: the lower 48 bits of its fingerprint */
};

/*
 * Looks for a state of that level. Records of earlier levels come before those of later ones, so there is no need to
 * read on from there; but if states come from a checkpoint, only `everywhere` finds it for certain. False if the log
 * cannot be read.
 */
bool parent_log_find(struct parent_log *log, struct parent_search *search, uint64_t fingerprint, uint32_t level,
                     bool everywhere);

#endif
