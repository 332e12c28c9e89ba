// SPDX-License-Identifier: MIT
/* The checker's large tables in WebAssembly: there are no pages to map, so they come from the heap. */
#include <stdlib.h>
#include <string.h>

#include "check/state/memory.h"

#define CACHE_LINE 64u

static size_t whole_lines(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

void *memory_map(size_t bytes)
{
    void *memory = aligned_alloc(CACHE_LINE, whole_lines(bytes));
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *memory_reserve(size_t bytes)
{
    return calloc(bytes, 1);
}

void memory_release(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void memory_touch(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void memory_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void *memory_resize(void *memory, size_t from, size_t to)
{
    unsigned char *longer = aligned_alloc(CACHE_LINE, whole_lines(to));
    if (!longer)
        return NULL;
    memcpy(longer, memory, from < to ? from : to);
    if (to > from)
        memset(longer + from, 0, to - from);
    free(memory);
    return longer;
}
