// SPDX-License-Identifier: MIT
/*
 * What is due when: records in the order they were added, one list of chunks per tick.
 *
 *      now
 *       v
 *   +---+---+---+---+---+---+---+---+        near: one list a tick, for the ticks of this block
 *   |   | o |   | o |   | o |   |   |
 *   +---+-|-+---+-|-+---+-|-+---+---+
 *         v       v       v
 *       chunk   chunk   chunk -> chunk       a chunk holds many records, back to back
 *
 *   +-------+-------+-------+-------+        far: one list a block, spread over `near` when its block begins
 *   |       |   o   |       |   o   |
 *   +-------+-------+-------+-------+
 *
 * When every delay is shorter than the wheel, the far list is not needed and a record is written once.
 * Chunks are reused: in the steady state nothing is allocated.
 */
#ifndef CONCLAVE_SIM_CALENDAR_H
#define CONCLAVE_SIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk {
    struct chunk *next;
    size_t used, room;
    unsigned char data[];
};

/* Where to write next stands here and not in the chunk: one cache line less for each record. */
struct chunk_list {
    struct chunk *first, *last;
    unsigned char *write, *limit; /* in the last chunk, whose `used` is not kept up to date */
};

struct calendar {
    struct chunk_list *near;
    struct chunk_list *far;
    uint64_t *occupied; /* a bit per near list that is not empty */
    struct chunk *spare;
    size_t chunk_room;
    uint64_t mask;    /* ticks in a block, less one */
    uint64_t now;     /* the tick whose records are being taken */
    uint64_t pending; /* records not yet taken */
    bool direct;      /* no record is due a whole wheel from now */
};

#define CALENDAR_BLOCKS 1024u
#define CALENDAR_FAR_HEAD 16u /* bytes in front of a record in a far list */

/* For delays up to `longest`; CV_NEVER-like large values are fine, they go the far way. */
int calendar_init(struct calendar *calendar, uint64_t longest);
void calendar_free(struct calendar *calendar);

/* Room for a record due at that time (later than now), or NULL when memory is out. */
void *calendar_add_slow(struct calendar *calendar, uint64_t due, size_t bytes);

static inline void *calendar_add(struct calendar *calendar, uint64_t due, size_t bytes)
{
    if (calendar->direct) {
        struct chunk_list *list = &calendar->near[due & calendar->mask];
        if ((size_t)(list->limit - list->write) >= bytes) {
            void *record = list->write;
            list->write += bytes;
            calendar->pending++;
            __builtin_prefetch(list->write + 64, 1); /* by the time this list is written again it has come */
            return record;
        }
    }
    return calendar_add_slow(calendar, due, bytes);
}

/* Brings `used` of the last chunk up to date, for whoever reads the list. */
static inline void calendar_settle(struct chunk_list *list)
{
    if (list->last)
        list->last->used = (size_t)(list->write - list->last->data);
}

/* Takes the list of the tick `calendar->now`; give each chunk back with calendar_recycle() when done. */
struct chunk *calendar_take(struct calendar *calendar);
void calendar_recycle(struct calendar *calendar, struct chunk *chunk);

/* The next tick to go to: something is due, or a block with something far begins. UINT64_MAX if nothing is pending. */
uint64_t calendar_next(const struct calendar *calendar);

/* Goes on to a later tick, but not past calendar_next(). */
int calendar_advance(struct calendar *calendar, uint64_t now);

#endif
