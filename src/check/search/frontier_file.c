// SPDX-License-Identifier: MIT
#include "check/search/frontier_file.h"

static bool write_chunk(struct chunk_writer *writer, const struct chunk *chunk)
{
    struct frontier_file *file = (struct frontier_file *)(void *)writer;
    return spill_append(&file->next, chunk, CHUNK_BYTES);
}

void frontier_file_init(struct frontier_file *file, struct frontier *frontier, struct spill_place *place)
{
    file->writer.write = write_chunk;
    spill_init(&file->level, place);
    spill_init(&file->next, place);
    frontier->writer = &file->writer;
}

void frontier_file_free(struct frontier_file *file)
{
    spill_close(&file->level);
    spill_close(&file->next);
}

struct chunk *frontier_file_take(struct frontier_file *file, struct frontier *frontier, struct frontier *taker)
{
    struct chunk *chunk = frontier_spare(taker);
    if (!chunk)
        return NULL;
    pthread_mutex_lock(&frontier->lock);
    const bool taken = file->level.bytes && spill_take(&file->level, chunk, CHUNK_BYTES);
    pthread_mutex_unlock(&frontier->lock);
    if (taken)
        return chunk;
    frontier_keep(taker, chunk);
    return NULL;
}

bool frontier_file_advance(struct frontier_file *file)
{
    const struct spill done = file->level;
    file->level = file->next;
    file->next = done;
    spill_clear(&file->next);
    return file->level.bytes;
}
