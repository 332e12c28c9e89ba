// SPDX-License-Identifier: MIT
/*
 * The full chunks of a thread's frontier on disk. Memory has the chunk that is being filled, and at the end of a level
 * the last one. Chunks are taken in the same order as from memory, the newest first, so that a search is the same with
 * and without files.
 */
#ifndef CONCLAVE_CHECK_SEARCH_FRONTIER_FILE_H
#define CONCLAVE_CHECK_SEARCH_FRONTIER_FILE_H

#include "check/search/frontier.h"
#include "check/search/spill.h"

struct frontier_file {
    struct chunk_writer writer; /* first, so that one pointer is the other */
    struct spill level;         /* the chunks of this level */
    struct spill next;          /* the chunks of the next level */
};

/* From now on the frontier writes its full chunks there. */
void frontier_file_init(struct frontier_file *file, struct frontier *frontier, struct spill_place *place);
void frontier_file_free(struct frontier_file *file);

/*
 * Takes a chunk of this level; NULL after the last, or if it cannot be read, or without memory. Any thread may call it:
 * `taker` is its own frontier, which gives the memory, and `frontier` that of the file.
 */
struct chunk *frontier_file_take(struct frontier_file *file, struct frontier *frontier, struct frontier *taker);

/* The next level becomes this one. No thread may be at work. False if there are no chunks. */
bool frontier_file_advance(struct frontier_file *file);

#endif
