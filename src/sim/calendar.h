// SPDX-License-Identifier: MIT
/*
 * A calendar: for each tick the list of its records, in the order they were added.
 *
 *      now
 *       v
 *   +---+---+---+---+---+---+---+---+        near: one list a tick, for the ticks of this block
 *   |   | o |   | o |   |ooo|   |   |        its first records stand in the list itself,
 *   +---+---+---+---+---+-|-+---+---+
 *                         v
 *                       chunk -> chunk       what does not fit in chunks, back to back
 *
 *   +-------+-------+-------+-------+        far: one list a block, spread over `near` when its block begins
 *   |       |   o   |       |   o   |
 *   +-------+-------+-------+-------+
 *
 * If every delay is shorter than the wheel, the far lists are not needed and a record is written once. Chunks are used
 * again: in the steady state nothing is allocated. Small chunks are cut from slabs, which may be large pages: a record
 * goes to one of thousands of lists, and finding the page of each would take longer than writing it.
 */
#ifndef CONCLAVE_SIM_CALENDAR_H
#define CONCLAVE_SIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calendar_chunk {
    struct calendar_chunk *next;
    size_t used, room;
    unsigned char data[];
};

struct calendar_slab {
    struct calendar_slab *next;
};

#define CALENDAR_LIST_BYTES 256u
#define CALENDAR_BLOCKS 1024u
#define CALENDAR_FAR_HEAD 16u /* bytes before a record in a far list */

/* If ticks have few records, a list with its record is one cache line. */
struct calendar_list {
    unsigned char *write, *limit; /* in `data` or the last chunk; NULL in a list never used */
    struct calendar_chunk *first, *last;
    size_t used; /* bytes of `data`; up to date only after calendar_settle(), like `used` of the last chunk */
    unsigned char data[CALENDAR_LIST_BYTES - 5 * sizeof(void *)];
};

struct calendar {
    struct calendar_list *near;
    struct calendar_list *far;
    void *near_memory;  /* `near` begins at a cache line in it */
    uint64_t *occupied; /* a bit per near list that is not empty */
    uint64_t summary;   /* a bit per word of `occupied` that is not zero */
    uint64_t far_occupied[CALENDAR_BLOCKS / 64];
    struct calendar_chunk *spare;
    struct calendar_slab *slabs; /* the last one first */
    unsigned char *cut, *uncut;  /* what is left of the last slab */
    size_t slab_bytes;           /* of the next slab; 0: every chunk is allocated by itself */
    uint64_t chunks;             /* chunks in the lists */
    size_t chunk_room;
    uint64_t mask;    /* ticks in a block, less one */
    uint64_t now;     /* the tick whose records are being taken */
    uint64_t pending; /* bytes of the records not yet taken */
    bool direct;      /* every record is due within a turn of the wheel */
};

/* For delays up to `longest`, which may be as large as CV_NEVER: long delays use the far lists. */
int calendar_init(struct calendar *calendar, uint64_t longest);
void calendar_free(struct calendar *calendar);

/* ---- which ticks have something due ---- */

static inline void calendar_mark(struct calendar *calendar, uint64_t slot)
{
    calendar->occupied[slot / 64] |= 1ull << slot % 64;
    calendar->summary |= 1ull << slot / 64;
}

static inline void calendar_unmark(struct calendar *calendar, uint64_t slot)
{
    const uint64_t left = calendar->occupied[slot / 64] & ~(1ull << slot % 64);
    calendar->occupied[slot / 64] = left;
    calendar->summary &= ~((uint64_t)(left == 0) << slot / 64);
}

static inline bool calendar_is_marked(const struct calendar *calendar, uint64_t slot)
{
    return calendar->occupied[slot / 64] >> slot % 64 & 1;
}

/* The first near list from this one on that is not empty, or UINT64_MAX. */
static inline uint64_t calendar_find(const struct calendar *calendar, uint64_t slot)
{
    const uint64_t word = slot / 64, here = calendar->occupied[word] >> slot % 64;
    if (here)
        return slot + (uint64_t)__builtin_ctzll(here);
    const uint64_t later = calendar->summary & ~1ull << word;
    if (!later)
        return UINT64_MAX;
    const uint64_t found = (uint64_t)__builtin_ctzll(later);
    return found * 64 + (uint64_t)__builtin_ctzll(calendar->occupied[found]);
}

/* The next tick to go to: something is due, or a block with something far begins. UINT64_MAX if nothing is pending. */
uint64_t calendar_next(const struct calendar *calendar);

/* The same, if something is pending and every record is due within a turn of the wheel. */
static inline uint64_t calendar_next_direct(const struct calendar *calendar)
{
    const uint64_t from = calendar->now + 1, slot = from & calendar->mask;
    uint64_t found = calendar_find(calendar, slot);
    if (found == UINT64_MAX)
        found = calendar->mask + 1 + calendar_find(calendar, 0);
    return from - slot + found;
}

/* Goes on to a later tick, but not past calendar_next(). */
int calendar_advance(struct calendar *calendar, uint64_t now);

/* ---- adding ---- */

/* Room for a record that is due at that time (later than now); NULL if memory ran out. */
void *calendar_add_slow(struct calendar *calendar, uint64_t due, size_t bytes);

static inline void *calendar_add(struct calendar *calendar, uint64_t due, size_t bytes)
{
    if (calendar->direct) {
        const uint64_t slot = due & calendar->mask;
        struct calendar_list *list = &calendar->near[slot];
        if ((size_t)(list->limit - list->write) >= bytes) {
            void *record = list->write;
            list->write += bytes;
            __builtin_prefetch(list->write + 64, 1); /* for the next record of that tick */
            calendar->pending += bytes;
            calendar_mark(calendar, slot);
            return record;
        }
    }
    return calendar_add_slow(calendar, due, bytes);
}

/*
 * The caller may write many records of one tick directly to its list, from `write` to at most `limit`, and then tells
 * calendar_close() the number of bytes. Only if every record is due within a turn of the wheel.
 */
static inline struct calendar_list *calendar_open(struct calendar *calendar, uint64_t due)
{
    struct calendar_list *list = &calendar->near[due & calendar->mask];
    if (!list->write) {
        list->write = list->data;
        list->limit = list->data + sizeof list->data;
    }
    return list;
}

/* The same, with room for so many bytes; NULL: no memory. */
struct calendar_list *calendar_open_wide(struct calendar *calendar, uint64_t due, size_t bytes);

static inline void calendar_close(struct calendar *calendar, uint64_t due, size_t bytes)
{
    if (!bytes)
        return;
    calendar->near[due & calendar->mask].write += bytes;
    calendar->pending += bytes;
    calendar_mark(calendar, due & calendar->mask);
}

/* ---- taking ---- */

/* A stretch of records, back to back. */
struct calendar_part {
    unsigned char *at, *end;      /* at == NULL: there is no more */
    struct calendar_chunk *chunk; /* the chunk that holds it; NULL: the list itself does */
};

static inline void calendar_settle(struct calendar_list *list)
{
    if (list->last)
        list->last->used = (size_t)(list->write - list->last->data);
    else if (list->write)
        list->used = (size_t)(list->write - list->data);
}

/* The parts of a list, one after the other, for looking at them. */
static inline struct calendar_part calendar_look(struct calendar_list *list)
{
    calendar_settle(list);
    return (struct calendar_part){list->data, list->data + list->used, NULL};
}

static inline struct calendar_part calendar_look_next(const struct calendar_list *list, struct calendar_part part)
{
    struct calendar_chunk *next = part.chunk ? part.chunk->next : list->first;
    return next ? (struct calendar_part){next->data, next->data + next->used, next} : (struct calendar_part){0};
}

/* The same for the tick `calendar->now`, but its records are taken: the memory of a part is used again after it. */
struct calendar_part calendar_take_chunk(struct calendar *calendar, struct calendar_list *list,
                                         struct calendar_part part);

static inline struct calendar_part calendar_take(struct calendar *calendar)
{
    const uint64_t slot = calendar->now & calendar->mask;
    const struct calendar_part part = calendar_look(&calendar->near[slot]);
    calendar_unmark(calendar, slot);
    calendar->pending -= (uint64_t)(part.end - part.at);
    return part;
}

static inline struct calendar_part calendar_take_next(struct calendar *calendar, struct calendar_part part)
{
    struct calendar_list *list = &calendar->near[calendar->now & calendar->mask];
    if (list->first)
        return calendar_take_chunk(calendar, list, part);
    list->write = list->data;
    list->limit = list->data + sizeof list->data;
    list->used = 0;
    return (struct calendar_part){0};
}

/* Takes what is left of the tick, unseen. */
static inline void calendar_drop(struct calendar *calendar)
{
    for (struct calendar_part part = calendar_take(calendar); part.at; part = calendar_take_next(calendar, part))
        ;
}

#endif
