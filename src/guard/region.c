// SPDX-License-Identifier: MIT
#include "guard/region.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FENCE_BYTES 64u /* that are looked at, before what is lent */
#define FENCE 0xa7

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static bool map(struct region *region, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inner = (whole_words(bytes) + FENCE_BYTES + page - 1) / page * page;
    unsigned char *memory = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (mprotect(memory + page, inner, PROT_READ | PROT_WRITE)) {
        munmap(memory, inner + 2 * page);
        return false;
    }
    *region = (struct region){.map = memory, .map_bytes = inner + 2 * page};
    return true;
}

static size_t inner_bytes(const struct region *region)
{
    return region->map ? region->map_bytes - 2 * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

bool region_lend(struct region *region, size_t bytes)
{
    const size_t whole = whole_words(bytes);
    if (region->lent && region->bytes == bytes)
        return true;
    if (whole + FENCE_BYTES > inner_bytes(region)) {
        struct region larger;
        if (!map(&larger, bytes))
            return false;
        region_free(region);
        *region = larger;
    }
    unsigned char *end = region->map + region->map_bytes - (size_t)sysconf(_SC_PAGESIZE);
    region->lent = end - whole;
    region->bytes = bytes;
    memset(region->lent - FENCE_BYTES, FENCE, FENCE_BYTES);
    memset(region->lent + bytes, FENCE, whole - bytes);
    return true;
}

bool region_extend(struct region *region, size_t bytes)
{
    struct region larger;
    if (!map(&larger, bytes) || !region_lend(&larger, bytes))
        return false;
    memcpy(larger.lent, region->lent, region->bytes);
    region_free(region);
    *region = larger;
    return true;
}

bool region_is_whole(const struct region *region)
{
    uint64_t fence;
    memset(&fence, FENCE, sizeof fence);
    uint64_t changed = 0;
    for (size_t i = 0; i < FENCE_BYTES; i += sizeof fence) {
        uint64_t word;
        memcpy(&word, region->lent - FENCE_BYTES + i, sizeof word);
        changed |= word ^ fence;
    }
    for (const unsigned char *at = region->lent + region->bytes; (uintptr_t)at % 8; at++)
        changed |= *at ^ (unsigned)FENCE;
    return !changed;
}

bool region_has(const struct region *region, const void *address)
{
    return region->map && (uintptr_t)address - (uintptr_t)region->map < region->map_bytes;
}

void region_free(struct region *region)
{
    if (region->map)
        munmap(region->map, region->map_bytes);
    *region = (struct region){0};
}
