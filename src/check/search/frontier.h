// SPDX-License-Identifier: MIT
/*
 * The states that wait to be expanded, in chunks: those of this level and those of the next. Every thread has a
 * frontier of its own, because what it wrote is in its cache. A thread that has no states left takes chunks of the
 * others.
 */
#ifndef CONCLAVE_CHECK_SEARCH_FRONTIER_H
#define CONCLAVE_CHECK_SEARCH_FRONTIER_H

#include <pthread.h>
#include <stdatomic.h>

#include "check/state/arena.h"
#include "check/state/chunk.h"

/* All chunks there are. */
struct chunk_store {
    pthread_mutex_t lock;
    struct arena chunks;
    _Atomic uint64_t bytes;
    _Atomic uint64_t queued; /* states in the chunks, without those that are being filled */
};

/* Stores full chunks elsewhere, so that their memory is free again. */
struct chunk_writer {
    bool (*write)(struct chunk_writer *writer, const struct chunk *chunk); /* false: it could not */
};

struct frontier {
    struct chunk_store *store;
    pthread_mutex_t lock;        /* of `level`: other threads take from it */
    struct chunk *level;         /* the chunks of this level */
    struct chunk *next;          /* the chunks of the next level */
    struct chunk *out;           /* a chunk of the next level, being filled */
    struct chunk *spare;         /* empty chunks */
    struct chunk_writer *writer; /* of the full chunks of the next level; NULL: memory keeps them */
    bool deep;                   /* depth first: there are no levels, and a full chunk goes to `level` */
};

void chunk_store_init(struct chunk_store *store);
void chunk_store_free(struct chunk_store *store);

void frontier_init(struct frontier *frontier, struct chunk_store *store, bool deep);
void frontier_free(struct frontier *frontier);

/* Begins another chunk of the next level, for states with that many slots; NULL if there is no memory. */
struct chunk *frontier_begin_chunk(struct frontier *frontier, uint32_t slots);

/* A chunk of the next level with room for a state with that many slots; NULL if there is no memory. */
static inline struct chunk *frontier_chunk(struct frontier *frontier, uint32_t slots)
{
    struct chunk *out = frontier->out;
    return out && chunk_takes(out, slots) ? out : frontier_begin_chunk(frontier, slots);
}

/* Takes a chunk of this level; NULL after the last. Any thread may call it. */
struct chunk *frontier_take(struct frontier *frontier);

/* Keeps an expanded chunk for reuse. Only the thread of this frontier may call it. */
void frontier_drop(struct frontier *frontier, struct chunk *chunk);

/* A chunk for anything; NULL if there is no memory. Only the thread of this frontier may call these two. */
struct chunk *frontier_spare(struct frontier *frontier);
/* Keeps it for reuse. */
void frontier_keep(struct frontier *frontier, struct chunk *chunk);

/* Puts a chunk of an earlier search on top of this level, or of the next. */
void frontier_restore(struct frontier *frontier, struct chunk *chunk, bool next);

/* Depth first: the chunk whose last state is the newest of this thread; NULL if it has none left. */
struct chunk *frontier_top(struct frontier *frontier);
/* Depth first: makes a chunk taken from another thread the newest. */
void frontier_adopt(struct frontier *frontier, struct chunk *chunk);
/* Depth first: offers the older half of the newest chunk to other threads. Without memory it does nothing. */
void frontier_share(struct frontier *frontier);

/* The next level becomes this one. No thread may be at work. False if the level is empty. */
bool frontier_advance(struct frontier *frontier);

#endif
