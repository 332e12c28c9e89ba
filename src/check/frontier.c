// SPDX-License-Identifier: MIT
#include "check/frontier.h"

void chunk_store_init(struct chunk_store *store)
{
    *store = (struct chunk_store){0};
    pthread_mutex_init(&store->lock, NULL);
}

void chunk_store_free(struct chunk_store *store)
{
    arena_free(&store->chunks);
    pthread_mutex_destroy(&store->lock);
}

void frontier_init(struct frontier *frontier, struct chunk_store *store)
{
    *frontier = (struct frontier){.store = store};
    pthread_mutex_init(&frontier->lock, NULL);
}

void frontier_free(struct frontier *frontier)
{
    pthread_mutex_destroy(&frontier->lock);
}

/* ---- lists ---- */

static void push(struct chunk **list, struct chunk *chunk)
{
    chunk->next = *list;
    *list = chunk;
}

static struct chunk *pop(struct chunk **list)
{
    struct chunk *chunk = *list;
    if (chunk)
        *list = chunk->next;
    return chunk;
}

static struct chunk *new_chunk(struct chunk_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct chunk *chunk = arena_take(&store->chunks, CHUNK_BYTES);
    store->bytes = store->chunks.bytes;
    pthread_mutex_unlock(&store->lock);
    return chunk;
}

static void hand_in(struct frontier *frontier)
{
    if (!frontier->out)
        return;
    frontier->store->queued += frontier->out->count;
    push(&frontier->next, frontier->out);
    frontier->out = NULL;
}

/* ---- what threads do ---- */

struct chunk *frontier_begin_chunk(struct frontier *frontier, uint32_t parts)
{
    hand_in(frontier);
    struct chunk *chunk = pop(&frontier->spare);
    if (!chunk && !(chunk = new_chunk(frontier->store)))
        return NULL;
    chunk_begin(chunk, parts);
    return frontier->out = chunk;
}

struct chunk *frontier_take(struct frontier *frontier)
{
    pthread_mutex_lock(&frontier->lock);
    struct chunk *chunk = pop(&frontier->level);
    pthread_mutex_unlock(&frontier->lock);
    return chunk;
}

void frontier_drop(struct frontier *frontier, struct chunk *chunk)
{
    frontier->store->queued -= chunk->count;
    push(&frontier->spare, chunk);
}

bool frontier_advance(struct frontier *frontier)
{
    hand_in(frontier);
    frontier->level = frontier->next;
    frontier->next = NULL;
    return frontier->level;
}
