// SPDX-License-Identifier: MIT
#include "live/net/heap.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "live/net/loop.h"
#include "secure/tls.h"

#define RESERVE_BYTES 65536u

static void *reserve;
static int exit_code;

static void *last_resort(void *block, size_t size)
{
    if (reserve) {
        free(reserve);
        reserve = NULL;
        block = realloc(block, size);
        if (block)
            return block;
    }
    cv_out_of_memory(exit_code);
}

static void *resize(void *block, size_t size)
{
    if (!size) {
        free(block);
        return NULL;
    }
    void *fresh = realloc(block, size);
    if (!fresh)
        return last_resort(block, size);
    if (!reserve)
        reserve = malloc(RESERVE_BYTES); /* memory is free again */
    return fresh;
}

static void *allocate(size_t size)
{
    return resize(NULL, size ? size : 1);
}

static void *allocate_zeroed(size_t count, size_t size)
{
    void *block = allocate(count * size); /* libuv's own sizes: they do not overflow */
    return memset(block, 0, count * size);
}

int cv_heap_begin(int code)
{
    static bool begun;
    exit_code = code;
    if (begun)
        return 0;
    cv_tls_heap(resize);
    reserve = malloc(RESERVE_BYTES);
    begun = reserve && uv_replace_allocator(allocate, resize, allocate_zeroed, free) == 0;
    return begun ? 0 : CV_ENOMEM;
}
