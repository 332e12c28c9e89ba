// SPDX-License-Identifier: MIT
/*
 * The states of a level that are still to be expanded, and those of the next, in chunks. Every thread has a part of
 * them: what it wrote is in its own cache, so it is best expanded, and its place used again, by the same thread. Only
 * one that has nothing left takes from the others.
 */
#ifndef CONCLAVE_CHECK_SEARCH_FRONTIER_H
#define CONCLAVE_CHECK_SEARCH_FRONTIER_H

#include <pthread.h>
#include <stdatomic.h>

#include "check/state/chunk.h"
#include "check/state/memory.h"

/* All chunks there are. */
struct chunk_store {
    pthread_mutex_t lock;
    struct arena chunks;
    _Atomic uint64_t bytes;
    _Atomic uint64_t queued; /* states in them, but for those of chunks that are being filled */
};

struct frontier {
    struct chunk_store *store;
    pthread_mutex_t lock;       /* of the level's list: the only one that others take from */
    struct chunk *level, *next; /* this level's chunks, and the next one's */
    struct chunk *out;          /* of the next level, being filled */
    struct chunk *spare;        /* to be used again */
    bool deep;                  /* there are no levels: a full chunk may be taken at once */
};

void chunk_store_init(struct chunk_store *store);
void chunk_store_free(struct chunk_store *store);

void frontier_init(struct frontier *frontier, struct chunk_store *store, bool deep);
void frontier_free(struct frontier *frontier);

/* A chunk of the next level with room for a state of so many parts; NULL if there is no memory. */
struct chunk *frontier_begin_chunk(struct frontier *frontier, uint32_t slots);

static inline struct chunk *frontier_chunk(struct frontier *frontier, uint32_t slots)
{
    struct chunk *out = frontier->out;
    return out && chunk_takes(out, slots) ? out : frontier_begin_chunk(frontier, slots);
}

/* A chunk of this level, NULL after the last; any thread may take it. */
struct chunk *frontier_take(struct frontier *frontier);

/* It has been expanded; by the thread whose frontier this is. */
void frontier_drop(struct frontier *frontier, struct chunk *chunk);

/* Depth first: the chunk whose last state is the newest that the thread has; NULL if it has none left. */
struct chunk *frontier_top(struct frontier *frontier);
/* Makes one that was taken from another thread that chunk. */
void frontier_adopt(struct frontier *frontier, struct chunk *chunk);
/* Lets others take the older half of its states. Without memory: nothing. */
void frontier_share(struct frontier *frontier);

/* The next level becomes this one, while nobody is at work; false if there is nothing in it. */
bool frontier_advance(struct frontier *frontier);

#endif
