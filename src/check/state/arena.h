// SPDX-License-Identifier: MIT
#ifndef CONCLAVE_CHECK_STATE_ARENA_H
#define CONCLAVE_CHECK_STATE_ARENA_H

#include <stddef.h>

/* Many pieces of memory that are freed together. */
struct arena {
    struct arena_block *blocks;
    unsigned char *next; /* the free part of the newest block */
    size_t left;         /* its bytes */
    size_t bytes;        /* of all blocks */
};

/* Zeroed memory, aligned to a cache line if it is at least as long; NULL if there is no memory. */
void *arena_take(struct arena *arena, size_t bytes);
void arena_free(struct arena *arena);

#endif
