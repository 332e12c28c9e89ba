// SPDX-License-Identifier: MIT
#include "sim/calendar.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/error.h"

/* A wheel of few slots can have large chunks. In a wheel of many slots, each occupied slot takes at least a chunk. */
#define LARGE_CHUNK ((size_t)256 * 1024)
#define SMALL_CHUNK ((size_t)2048)
#define FIRST_SLAB ((size_t)16 * 1024)
#define LARGE_PAGE ((size_t)2 * 1024 * 1024)
#ifdef __SANITIZE_ADDRESS__
/* It asks the kernel for each large wheel anew, and a test has thousands of runs. */
#define BLOCK_TICKS 256u
#else
#define BLOCK_TICKS 4096u
#endif
#define LONGEST_DIRECT (BLOCK_TICKS - 1)
#define CACHE_LINE 64u

/* In a far list, the time at which a record is due and its size stand before the record. */
struct far_record {
    uint64_t due;
    uint64_t bytes;
};

_Static_assert(sizeof(struct far_record) == CALENDAR_FAR_HEAD, "others step over it");

_Static_assert(BLOCK_TICKS <= 64 * 64 && LONGEST_DIRECT < BLOCK_TICKS, "`summary` has a bit per 64 ticks");
_Static_assert(sizeof(struct calendar_list) == CALENDAR_LIST_BYTES, "whole cache lines");

int calendar_init(struct calendar *calendar, uint64_t longest)
{
    *calendar = (struct calendar){.direct = longest <= LONGEST_DIRECT};
    uint64_t slots = calendar->direct ? 2 : BLOCK_TICKS;
    while (calendar->direct && slots <= longest)
        slots *= 2;
    calendar->mask = slots - 1;
    const bool few = slots <= 16;
    calendar->chunk_room = (few ? LARGE_CHUNK : SMALL_CHUNK) - sizeof(struct calendar_chunk);
    calendar->slab_bytes = few ? 0 : FIRST_SLAB;
    calendar->near_memory = calloc(slots + 1, sizeof *calendar->near);
    calendar->near = (void *)(((uintptr_t)calendar->near_memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
    calendar->occupied = calloc(slots / 64 + 1, sizeof *calendar->occupied);
    calendar->far = calendar->direct ? NULL : calloc(CALENDAR_BLOCKS, sizeof *calendar->far);
    if (calendar->near_memory && calendar->occupied && (calendar->direct || calendar->far))
        return 0;
    calendar_free(calendar);
    return CV_ENOMEM;
}

/* Was the chunk allocated by itself? */
static bool stands_alone(const struct calendar *calendar, const struct calendar_chunk *chunk)
{
    return !calendar->slab_bytes || chunk->room != calendar->chunk_room;
}

static void free_chunks(const struct calendar *calendar, struct calendar_chunk *chunk)
{
    while (chunk) {
        struct calendar_chunk *next = chunk->next;
        if (stands_alone(calendar, chunk))
            free(chunk);
        chunk = next;
    }
}

void calendar_free(struct calendar *calendar)
{
    /* Skips lists that were never used: their memory need not be touched. */
    for (uint64_t i = 0; calendar->chunks && calendar->near_memory && i <= calendar->mask; i++)
        free_chunks(calendar, calendar->near[i].first);
    for (uint64_t i = 0; calendar->chunks && calendar->far && i < CALENDAR_BLOCKS; i++)
        free_chunks(calendar, calendar->far[i].first);
    free_chunks(calendar, calendar->spare);
    for (struct calendar_slab *slab = calendar->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    free(calendar->near_memory);
    free(calendar->far);
    free(calendar->occupied);
    *calendar = (struct calendar){0};
}

/* A chunk of the usual size from a slab. Slabs grow, so that a run with few records needs little memory. */
static struct calendar_chunk *cut_chunk(struct calendar *calendar)
{
    const size_t bytes = sizeof(struct calendar_chunk) + calendar->chunk_room;
    if ((size_t)(calendar->uncut - calendar->cut) < bytes) {
        const size_t room = calendar->slab_bytes;
        struct calendar_slab *slab = aligned_alloc(room < LARGE_PAGE ? CACHE_LINE : LARGE_PAGE, room);
        if (!slab)
            return NULL;
        if (room >= LARGE_PAGE)
            madvise(slab, room, MADV_HUGEPAGE); /* only advice: small pages work, too */
        slab->next = calendar->slabs;
        calendar->slabs = slab;
        calendar->cut = (unsigned char *)slab + CACHE_LINE;
        calendar->uncut = (unsigned char *)slab + room;
        calendar->slab_bytes = room < LARGE_PAGE ? room * 2 : room;
    }
    struct calendar_chunk *chunk = (void *)calendar->cut;
    calendar->cut += bytes;
    return chunk;
}

static struct calendar_chunk *new_chunk(struct calendar *calendar, size_t bytes)
{
    struct calendar_chunk *chunk = calendar->spare;
    if (chunk && bytes <= calendar->chunk_room) {
        calendar->spare = chunk->next;
    } else {
        const size_t room = bytes > calendar->chunk_room ? bytes : calendar->chunk_room;
        chunk =
            calendar->slab_bytes && room == calendar->chunk_room ? cut_chunk(calendar) : malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->room = room;
    }
    chunk->next = NULL;
    chunk->used = 0;
    calendar->chunks++;
    return chunk;
}

static void reset(struct calendar_list *list)
{
    list->first = list->last = NULL;
    list->write = list->data;
    list->limit = list->data + sizeof list->data;
    list->used = 0;
}

static void *append(struct calendar *calendar, struct calendar_list *list, size_t bytes)
{
    if (!list->write)
        reset(list);
    if ((size_t)(list->limit - list->write) < bytes) {
        struct calendar_chunk *fresh = new_chunk(calendar, bytes);
        if (!fresh)
            return NULL;
        calendar_settle(list);
        if (list->last)
            list->last->next = fresh;
        else
            list->first = fresh;
        list->last = fresh;
        list->write = fresh->data;
        list->limit = fresh->data + fresh->room;
    }
    void *record = list->write;
    list->write += bytes;
    return record;
}

static uint64_t block_of(const struct calendar *calendar, uint64_t time)
{
    return time / (calendar->mask + 1);
}

void *calendar_add_slow(struct calendar *calendar, uint64_t due, size_t bytes)
{
    unsigned char *record;
    if (calendar->direct || block_of(calendar, due) == block_of(calendar, calendar->now)) {
        const uint64_t slot = due & calendar->mask;
        calendar_mark(calendar, slot);
        record = append(calendar, &calendar->near[slot], bytes);
    } else {
        const uint64_t block = block_of(calendar, due) % CALENDAR_BLOCKS;
        calendar->far_occupied[block / 64] |= 1ull << block % 64;
        record = append(calendar, &calendar->far[block], sizeof(struct far_record) + bytes);
        if (record) {
            memcpy(record, &(struct far_record){due, bytes}, sizeof(struct far_record));
            record += sizeof(struct far_record);
        }
    }
    calendar->pending += record ? bytes : 0;
    return record;
}

struct calendar_list *calendar_open_wide(struct calendar *calendar, uint64_t due, size_t bytes)
{
    struct calendar_list *list = &calendar->near[due & calendar->mask];
    if (!append(calendar, list, bytes))
        return NULL;
    list->write -= bytes;
    return list;
}

static void recycle(struct calendar *calendar, struct calendar_chunk *chunk)
{
    calendar->chunks--;
    if (chunk->room == calendar->chunk_room) {
        chunk->next = calendar->spare;
        calendar->spare = chunk;
    } else {
        free(chunk);
    }
}

struct calendar_part calendar_take_chunk(struct calendar *calendar, struct calendar_list *list,
                                         struct calendar_part part)
{
    struct calendar_chunk *next = part.chunk ? part.chunk->next : list->first;
    if (part.chunk)
        recycle(calendar, part.chunk);
    if (next) {
        calendar->pending -= next->used;
        return (struct calendar_part){next->data, next->data + next->used, next};
    }
    reset(list);
    return (struct calendar_part){0};
}

static int spread_records(struct calendar *calendar, const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        struct far_record far;
        memcpy(&far, at, sizeof far);
        at += sizeof far;
        calendar->pending -= far.bytes;
        if (far.due >= calendar->now) {
            void *record = calendar_add_slow(calendar, far.due, far.bytes);
            if (!record)
                return CV_ENOMEM;
            memcpy(record, at, far.bytes);
        }
        at += far.bytes;
    }
    return 0;
}

/* A block begins: its far records move to their ticks. Records of a later lap stay in the far list. */
static int spread(struct calendar *calendar)
{
    const uint64_t block = block_of(calendar, calendar->now) % CALENDAR_BLOCKS;
    if (!(calendar->far_occupied[block / 64] >> block % 64 & 1))
        return 0;
    calendar_settle(&calendar->far[block]);
    const struct calendar_list taken = calendar->far[block];
    reset(&calendar->far[block]);
    calendar->far_occupied[block / 64] &= ~(1ull << block % 64);
    int error = spread_records(calendar, taken.data, taken.data + taken.used);
    for (struct calendar_chunk *chunk = taken.first, *next; chunk; chunk = next) {
        next = chunk->next;
        if (!error)
            error = spread_records(calendar, chunk->data, chunk->data + chunk->used);
        recycle(calendar, chunk);
    }
    return error;
}

uint64_t calendar_next(const struct calendar *calendar)
{
    if (!calendar->pending)
        return UINT64_MAX;
    if (calendar->direct)
        return calendar_next_direct(calendar);
    const uint64_t here = calendar->now & calendar->mask, block = block_of(calendar, calendar->now);
    const uint64_t slot = here < calendar->mask ? calendar_find(calendar, here + 1) : UINT64_MAX;
    if (slot != UINT64_MAX)
        return calendar->now - here + slot;
    for (uint64_t later = block + 1; later <= block + CALENDAR_BLOCKS;) {
        const uint64_t place = later % CALENDAR_BLOCKS, bits = calendar->far_occupied[place / 64] >> place % 64;
        if (bits)
            return (later + (uint64_t)__builtin_ctzll(bits)) * (calendar->mask + 1);
        later += 64 - place % 64;
    }
    return UINT64_MAX;
}

int calendar_advance(struct calendar *calendar, uint64_t now)
{
    const bool new_block = !calendar->direct && (now ^ calendar->now) > calendar->mask;
    calendar->now = now;
    return new_block ? spread(calendar) : 0;
}
