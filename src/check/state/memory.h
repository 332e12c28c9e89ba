// SPDX-License-Identifier: MIT
/*
 * Memory for what a search looks up at random: in large pages where there are some, because with small ones it takes
 * longer to find the page than to read it.
 */
#ifndef CONCLAVE_CHECK_STATE_MEMORY_H
#define CONCLAVE_CHECK_STATE_MEMORY_H

#include <stddef.h>

/* Zeroed; NULL if there is none. It takes address space at once, and memory where it is used. */
void *memory_map(size_t bytes);
/* The same for what will hardly be used: in small pages, and not counted. */
void *memory_reserve(size_t bytes);
void memory_release(void *memory, size_t bytes);

/*
 * From now on memory_map() gives nothing more once so many bytes are held, but for small pieces; 0: no bound. What
 * grows by doubling would go far beyond the bound before anybody looked.
 */
void memory_bound(size_t bytes);

/*
 * Finds the pages for all of it now: it will be written in no order, and what is read before it is written is mapped
 * twice, the second time with a word to all other processors.
 */
void memory_touch(void *memory, size_t bytes);
void memory_unmap(void *memory, size_t bytes);
/* The same with more behind it, zeroed, or less; it may be elsewhere. NULL if there is no more: it is as it was. */
void *memory_resize(void *memory, size_t from, size_t to);

/* Many pieces that are freed together. */
struct arena {
    struct arena_block *blocks;
    unsigned char *next;
    size_t left;
    size_t bytes; /* of all blocks */
};

/* Zeroed, and aligned to the lines of the cache if it is as long as one; NULL if there is no memory. */
void *arena_take(struct arena *arena, size_t bytes);
void arena_free(struct arena *arena);

#endif
