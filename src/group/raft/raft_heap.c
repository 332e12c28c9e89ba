// SPDX-License-Identifier: MIT
#include "group/raft/raft_heap.h"

#include <stdlib.h>

#include "group/raft/agreement_parts.h"

static _Thread_local const void *watched; /* NULL: no block, or it has been freed */

static void *found(void *block, size_t size)
{
    if (!block && size)
        cv_out_of_memory(1);
    return block;
}

static void *allocate(void *data, size_t size)
{
    (void)data;
    return found(malloc(size), size);
}

static void release(void *data, void *block)
{
    (void)data;
    if (block == watched)
        watched = NULL;
    free(block);
}

void cv_raft_heap_watch(const void *block)
{
    watched = block;
}

bool cv_raft_heap_was_freed(void)
{
    const bool freed = !watched;
    watched = NULL;
    return freed;
}

static void *allocate_zeroed(void *data, size_t count, size_t size)
{
    (void)data;
    return found(calloc(count, size), count * size);
}

static void *resize(void *data, void *block, size_t size)
{
    (void)data;
    return found(realloc(block, size), size);
}

static void *allocate_aligned(void *data, size_t alignment, size_t size)
{
    (void)data;
    return found(aligned_alloc(alignment, size), size);
}

static void release_aligned(void *data, size_t alignment, void *block)
{
    (void)data, (void)alignment;
    free(block);
}

void cv_raft_heap_begin(void)
{
    static struct raft_heap heap = {.malloc = allocate,
                                    .free = release,
                                    .calloc = allocate_zeroed,
                                    .realloc = resize,
                                    .aligned_alloc = allocate_aligned,
                                    .aligned_free = release_aligned};
    raft_heap_set(&heap);
}
