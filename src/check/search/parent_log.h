// SPDX-License-Identifier: MIT
/*
 * All states of a search on disk, level by level, each with its parent: what a compact table leaves out. Only a
 * counterexample needs it, and then the file is read once, from its end to its beginning.
 */
#ifndef CONCLAVE_CHECK_SEARCH_PARENT_LOG_H
#define CONCLAVE_CHECK_SEARCH_PARENT_LOG_H

#include <pthread.h>

#include "check/search/spill.h"
#include "check/state/table.h"

struct parent_record {
    uint64_t fingerprint; /* as the table holds it */
    uint64_t info;        /* as in struct slot */
};

#define PARENT_RECORDS 4096u

/* The newest records of a thread. */
struct parent_buffer {
    uint32_t count;
    struct parent_record records[PARENT_RECORDS];
};

struct parent_log {
    struct spill spill;
    pthread_mutex_t lock;
};

void parent_log_init(struct parent_log *log, struct spill_place *place);
void parent_log_free(struct parent_log *log);

/* Several threads may add at once, each with its own buffer. What cannot be written is noted at the place. */
void parent_log_flush(struct parent_log *log, struct parent_buffer *buffer);

static inline void parent_log_add(struct parent_log *log, struct parent_buffer *buffer, struct fingerprint fingerprint,
                                  uint64_t parent, uint32_t level)
{
    level = level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
    buffer->records[buffer->count++] = (struct parent_record){table_wanted(fingerprint), table_info(parent, level)};
    if (buffer->count == PARENT_RECORDS)
        parent_log_flush(log, buffer);
}

/*
 * Lists a state of that level and its ancestors, up to the initial state, by the lower 48 bits of their fingerprints.
 * False if the log cannot be read, or lacks one of them. `list` has room for level + 1.
 */
bool parent_log_ancestors(struct parent_log *log, uint64_t fingerprint, uint32_t level, uint64_t *list);

#endif
