// SPDX-License-Identifier: MIT
#include "check/state/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define SMALL_PAGE ((uintptr_t)1 << 12)
#define LARGE_PAGE ((size_t)1 << 21)
#define SMALL_PIECE ((size_t)1 << 19)

static _Atomic size_t held, most;

void memory_bound(size_t bytes)
{
    most = bytes;
}

/* Rounds a large size up to whole large pages. */
static size_t whole(size_t bytes)
{
    return bytes < LARGE_PAGE ? bytes : (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

static void *map(size_t bytes, int protection)
{
    void *memory = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The same aligned to large pages: maps one page more and returns the excess at both ends. */
static void *map_large(size_t bytes, int protection)
{
    unsigned char *memory = map(bytes + LARGE_PAGE, protection);
    if (!memory)
        return NULL;
    const size_t before = -(uintptr_t)memory % LARGE_PAGE;
    if (before)
        munmap(memory, before);
    munmap(memory + before + bytes, LARGE_PAGE - before);
    madvise(memory + before, bytes, MADV_HUGEPAGE); /* only advice */
    return memory + before;
}

void *memory_map(size_t bytes)
{
    const int protection = PROT_READ | PROT_WRITE;
    if (most && bytes > SMALL_PIECE && held + whole(bytes) > most)
        return NULL;
    void *memory = bytes < LARGE_PAGE ? map(bytes, protection) : map_large(whole(bytes), protection);
    held += memory ? whole(bytes) : 0;
    return memory;
}

void *memory_reserve(size_t bytes)
{
    return map(whole(bytes), PROT_READ | PROT_WRITE);
}

void memory_touch(void *memory, size_t bytes)
{
    const uintptr_t first = (uintptr_t)memory & -SMALL_PAGE, end = (uintptr_t)memory + bytes;
    madvise((void *)first, (end - first + SMALL_PAGE - 1) & -SMALL_PAGE, MADV_POPULATE_WRITE); /* only advice */
}

static void *moved(void *memory)
{
    return memory == MAP_FAILED ? NULL : memory;
}

void *memory_resize(void *memory, size_t from, size_t to)
{
    void *longer;
    if (whole(to) <= whole(from)) {
        longer = moved(mremap(memory, whole(from), whole(to), 0));
    } else if (to < LARGE_PAGE) {
        longer = moved(mremap(memory, from, to, MREMAP_MAYMOVE));
    } else {
        void *reserved = map_large(whole(to), PROT_NONE);
        longer =
            reserved ? moved(mremap(memory, whole(from), whole(to), MREMAP_MAYMOVE | MREMAP_FIXED, reserved)) : NULL;
        if (longer)
            madvise(longer, whole(to), MADV_HUGEPAGE);
        else if (reserved)
            munmap(reserved, whole(to));
    }
    held += longer ? whole(to) - whole(from) : 0;
    return longer;
}

void memory_unmap(void *memory, size_t bytes)
{
    if (!memory)
        return;
    munmap(memory, whole(bytes));
    held -= whole(bytes);
}

void memory_release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, whole(bytes));
}
