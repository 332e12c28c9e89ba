// SPDX-License-Identifier: MIT
#include "check/state/arena.h"

#include <stdbool.h>
#include <stdint.h>

#include "check/state/memory.h"

#define CACHE_LINE 64u
#define WORD 8u
#define LEAST_BLOCK ((size_t)1 << 16)
#define MOST_BLOCK ((size_t)1 << 23)

struct arena_block {
    struct arena_block *next;
    size_t bytes;
    unsigned char room[] __attribute__((aligned(CACHE_LINE)));
};

/* Each block is as large as all before it, within bounds, so that little is wasted. */
static bool add_block(struct arena *arena, size_t bytes)
{
    size_t room = arena->bytes < LEAST_BLOCK ? LEAST_BLOCK : arena->bytes < MOST_BLOCK ? arena->bytes : MOST_BLOCK;
    while (room < bytes + sizeof(struct arena_block))
        room *= 2;
    struct arena_block *block = memory_map(room);
    if (!block)
        return false;
    *block = (struct arena_block){.next = arena->blocks, .bytes = room};
    arena->blocks = block;
    arena->next = block->room;
    arena->left = room - sizeof *block;
    arena->bytes += room;
    return true;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    const size_t alignment = bytes < CACHE_LINE ? WORD : CACHE_LINE;
    size_t skipped = -(uintptr_t)arena->next % alignment;
    bytes = (bytes + WORD - 1) / WORD * WORD;
    if (arena->left < skipped + bytes) {
        if (!add_block(arena, bytes))
            return NULL;
        skipped = 0;
    }
    unsigned char *piece = arena->next + skipped;
    arena->next = piece + bytes;
    arena->left -= skipped + bytes;
    return piece;
}

void arena_free(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        memory_unmap(arena->blocks, arena->blocks->bytes);
        arena->blocks = next;
    }
    *arena = (struct arena){0};
}
