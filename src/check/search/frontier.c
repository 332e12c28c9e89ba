// SPDX-License-Identifier: MIT
#include "check/search/frontier.h"

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

void frontier_init(struct frontier *frontier, struct chunk_store *store, bool deep)
{
    *frontier = (struct frontier){.store = store, .deep = deep};
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

static void offer(struct frontier *frontier, struct chunk *chunk)
{
    pthread_mutex_lock(&frontier->lock);
    push(&frontier->level, chunk);
    pthread_mutex_unlock(&frontier->lock);
}

static void hand_in(struct frontier *frontier)
{
    struct chunk *out = frontier->out;
    frontier->out = NULL;
    if (!out)
        return;
    frontier->store->queued += out->count;
    if (!out->count)
        push(&frontier->spare, out);
    else if (frontier->deep)
        offer(frontier, out);
    else
        push(&frontier->next, out);
}

struct chunk *frontier_spare(struct frontier *frontier)
{
    struct chunk *chunk = pop(&frontier->spare);
    return chunk ? chunk : new_chunk(frontier->store);
}

void frontier_keep(struct frontier *frontier, struct chunk *chunk)
{
    push(&frontier->spare, chunk);
}

static struct chunk *empty_chunk(struct frontier *frontier, uint32_t slots)
{
    struct chunk *chunk = frontier_spare(frontier);
    if (chunk)
        chunk_begin(chunk, slots);
    return chunk;
}

/* ---- levels ---- */

struct chunk *frontier_begin_chunk(struct frontier *frontier, uint32_t slots)
{
    struct chunk *out = frontier->out;
    if (out && out->count && frontier->writer && frontier->writer->write(frontier->writer, out)) {
        frontier->store->queued += out->count;
        chunk_begin(out, slots);
        return out;
    }
    hand_in(frontier);
    return frontier->out = empty_chunk(frontier, slots);
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

void frontier_restore(struct frontier *frontier, struct chunk *chunk, bool next)
{
    push(next ? &frontier->next : &frontier->level, chunk);
}

/* ---- depth first ---- */

void frontier_adopt(struct frontier *frontier, struct chunk *chunk)
{
    if (frontier->out)
        push(&frontier->spare, frontier->out);
    frontier->store->queued -= chunk->count;
    frontier->out = chunk;
}

struct chunk *frontier_top(struct frontier *frontier)
{
    if (frontier->out && frontier->out->count)
        return frontier->out;
    struct chunk *chunk = frontier_take(frontier);
    if (chunk)
        frontier_adopt(frontier, chunk);
    return chunk;
}

void frontier_share(struct frontier *frontier)
{
    struct chunk *out = frontier->out, *half = empty_chunk(frontier, out->slots);
    if (!half)
        return;
    const size_t stride = chunk_stride(out->slots) * sizeof *out->words;
    half->count = out->count / 2;
    out->count -= half->count;
    memcpy(half->words, out->words, half->count * stride);
    memmove(out->words, out->words + half->count * stride / sizeof *out->words, out->count * stride);
    frontier->store->queued += half->count;
    offer(frontier, half);
}

bool frontier_advance(struct frontier *frontier)
{
    hand_in(frontier);
    if (!frontier->deep) {
        frontier->level = frontier->next;
        frontier->next = NULL;
    }
    return frontier->level;
}
