// SPDX-License-Identifier: MIT
#include "check/state/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL_PAGE ((uintptr_t)1 << 12)
#define LARGE_PAGE ((size_t)1 << 21)
#define SMALL_PIECE ((size_t)1 << 19)
#define MOST_SPARE ((size_t)1 << 25)

static _Atomic size_t held, most;
static _Atomic uint32_t bounds;

/*
 * Small pieces that were given back, by their number of pages. To unmap a page interrupts all threads of the process,
 * and to map it again costs more than to clear it: small checks that follow each other would do little else.
 */
static struct spare {
    struct spare *next;
} * spares[SMALL_PIECE / SMALL_PAGE + 1];
static size_t spare_bytes;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

void memory_bound(size_t bytes)
{
    if (!bounds++)
        most = bytes;
}

void memory_unbound(void)
{
    if (!--bounds)
        most = 0;
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

static size_t pages_of(size_t bytes)
{
    return (bytes + SMALL_PAGE - 1) / SMALL_PAGE;
}

/* A piece that was given back, of zeros again; NULL if there is none. */
static void *take_spare(size_t bytes)
{
    if (bytes > SMALL_PIECE)
        return NULL;
    pthread_mutex_lock(&spare_lock);
    struct spare *spare = spares[pages_of(bytes)];
    if (spare) {
        spares[pages_of(bytes)] = spare->next;
        spare_bytes -= pages_of(bytes) * SMALL_PAGE;
    }
    pthread_mutex_unlock(&spare_lock);
    return spare ? memset(spare, 0, pages_of(bytes) * SMALL_PAGE) : NULL;
}

/* False if it is not a small piece, or there are enough. */
static bool keep_spare(void *memory, size_t bytes)
{
    if (bytes > SMALL_PIECE)
        return false;
    pthread_mutex_lock(&spare_lock);
    const bool kept = spare_bytes < MOST_SPARE;
    if (kept) {
        struct spare *spare = memory;
        spare->next = spares[pages_of(bytes)];
        spares[pages_of(bytes)] = spare;
        spare_bytes += pages_of(bytes) * SMALL_PAGE;
    }
    pthread_mutex_unlock(&spare_lock);
    return kept;
}

void *memory_map(size_t bytes)
{
    const int protection = PROT_READ | PROT_WRITE;
    if (most && bytes > SMALL_PIECE && held + whole(bytes) > most)
        return NULL;
    void *memory = take_spare(bytes);
    if (!memory)
        memory = bytes < LARGE_PAGE ? map(bytes, protection) : map_large(whole(bytes), protection);
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
    if (!keep_spare(memory, bytes))
        munmap(memory, whole(bytes));
    held -= whole(bytes);
}

void memory_release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, whole(bytes));
}
