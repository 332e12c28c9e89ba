// SPDX-License-Identifier: MIT
#include "sim/calendar.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* Chunks of a wheel of few slots can be large; with many slots each occupied one costs at least a chunk. */
#define LARGE_CHUNK ((size_t)256 * 1024)
#define SMALL_CHUNK ((size_t)4 * 1024)
#define LONGEST_DIRECT 8191u
#define BLOCK_TICKS 4096u

/* In a far list a record follows the time it is due and its size. */
struct far_record {
    uint64_t due;
    uint64_t bytes;
};

_Static_assert(sizeof(struct far_record) == CALENDAR_FAR_HEAD, "others step over it");

int calendar_init(struct calendar *calendar, uint64_t longest)
{
    *calendar = (struct calendar){.direct = longest <= LONGEST_DIRECT};
    uint64_t slots = calendar->direct ? 2 : BLOCK_TICKS;
    while (calendar->direct && slots <= longest)
        slots *= 2;
    calendar->mask = slots - 1;
    calendar->chunk_room = (slots <= 16 ? LARGE_CHUNK : SMALL_CHUNK) - sizeof(struct chunk);
    calendar->near = calloc(slots, sizeof *calendar->near);
    calendar->occupied = calloc(slots / 64 + 1, sizeof *calendar->occupied);
    calendar->far = calendar->direct ? NULL : calloc(CALENDAR_BLOCKS, sizeof *calendar->far);
    if (calendar->near && calendar->occupied && (calendar->direct || calendar->far))
        return 0;
    calendar_free(calendar);
    return CV_ENOMEM;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void calendar_free(struct calendar *calendar)
{
    for (uint64_t i = 0; calendar->near && i <= calendar->mask; i++)
        free_chunks(calendar->near[i].first);
    for (uint64_t i = 0; calendar->far && i < CALENDAR_BLOCKS; i++)
        free_chunks(calendar->far[i].first);
    free_chunks(calendar->spare);
    free(calendar->near);
    free(calendar->far);
    free(calendar->occupied);
    *calendar = (struct calendar){0};
}

static struct chunk *new_chunk(struct calendar *calendar, size_t bytes)
{
    struct chunk *chunk = calendar->spare;
    if (chunk && bytes <= calendar->chunk_room) {
        calendar->spare = chunk->next;
    } else {
        const size_t room = bytes > calendar->chunk_room ? bytes : calendar->chunk_room;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->room = room;
    }
    chunk->next = NULL;
    chunk->used = 0;
    return chunk;
}

static void *append(struct calendar *calendar, struct chunk_list *list, size_t bytes)
{
    if ((size_t)(list->limit - list->write) < bytes) {
        struct chunk *fresh = new_chunk(calendar, bytes);
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
        calendar->occupied[slot / 64] |= 1ull << slot % 64;
        record = append(calendar, &calendar->near[slot], bytes);
    } else {
        struct chunk_list *list = &calendar->far[block_of(calendar, due) % CALENDAR_BLOCKS];
        record = append(calendar, list, sizeof(struct far_record) + bytes);
        if (record) {
            memcpy(record, &(struct far_record){due, bytes}, sizeof(struct far_record));
            record += sizeof(struct far_record);
        }
    }
    calendar->pending += record != NULL;
    return record;
}

struct chunk *calendar_take(struct calendar *calendar)
{
    const uint64_t slot = calendar->now & calendar->mask;
    struct chunk_list *list = &calendar->near[slot];
    struct chunk *first = list->first;
    calendar_settle(list);
    calendar->occupied[slot / 64] &= ~(1ull << slot % 64);
    *list = (struct chunk_list){0};
    return first;
}

void calendar_recycle(struct calendar *calendar, struct chunk *chunk)
{
    if (chunk->room == calendar->chunk_room) {
        chunk->next = calendar->spare;
        calendar->spare = chunk;
    } else {
        free(chunk);
    }
}

/* A block begins: its far records go to their ticks; those of a later lap stay far. */
static int spread(struct calendar *calendar)
{
    struct chunk_list *list = &calendar->far[block_of(calendar, calendar->now) % CALENDAR_BLOCKS];
    struct chunk *chunk = list->first;
    calendar_settle(list);
    *list = (struct chunk_list){0};
    while (chunk) {
        for (size_t at = 0; at < chunk->used;) {
            struct far_record far;
            memcpy(&far, chunk->data + at, sizeof far);
            at += sizeof far;
            calendar->pending--;
            if (far.due >= calendar->now) {
                void *record = calendar_add_slow(calendar, far.due, far.bytes);
                if (!record)
                    return CV_ENOMEM;
                memcpy(record, chunk->data + at, far.bytes);
            }
            at += far.bytes;
        }
        struct chunk *next = chunk->next;
        calendar_recycle(calendar, chunk);
        chunk = next;
    }
    return 0;
}

/* The first occupied slot of first..last, or UINT64_MAX. */
static uint64_t find_slot(const struct calendar *calendar, uint64_t first, uint64_t last)
{
    for (uint64_t word = first / 64; first <= last && word <= last / 64; word++) {
        uint64_t bits = calendar->occupied[word];
        if (word == first / 64)
            bits &= ~0ull << first % 64;
        if (bits) {
            const uint64_t slot = word * 64 + (uint64_t)__builtin_ctzll(bits);
            return slot <= last ? slot : UINT64_MAX;
        }
    }
    return UINT64_MAX;
}

uint64_t calendar_next(const struct calendar *calendar)
{
    const uint64_t here = calendar->now & calendar->mask, ticks = calendar->mask + 1;
    const uint64_t lap = calendar->now - here;
    if (!calendar->pending)
        return UINT64_MAX;
    uint64_t slot = find_slot(calendar, here + 1, calendar->mask);
    if (slot != UINT64_MAX)
        return lap + slot;
    if (calendar->direct) {
        slot = find_slot(calendar, 0, here);
        return slot == UINT64_MAX ? slot : lap + ticks + slot;
    }
    for (uint64_t block = 1; block <= CALENDAR_BLOCKS; block++)
        if (calendar->far[(lap / ticks + block) % CALENDAR_BLOCKS].first)
            return lap + block * ticks;
    return UINT64_MAX;
}

int calendar_advance(struct calendar *calendar, uint64_t now)
{
    const bool new_block = !calendar->direct && (now ^ calendar->now) > calendar->mask;
    calendar->now = now;
    return new_block ? spread(calendar) : 0;
}
