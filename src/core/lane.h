// SPDX-License-Identifier: MIT
/*
 * A lane carries short blocks from one sender to one receiver that share memory. A block is copied into a place of the
 * lane, and with the last word that is written the place is the receiver's: so a block crosses from one processor to
 * the other at once, with nothing that both write. What is too long for a place, or finds none that is free, goes
 * another way. Each block knows how many went the other way before it, so that all are taken in the order in which they
 * were sent.
 */
#ifndef CONCLAVE_CORE_LANE_H
#define CONCLAVE_CORE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_LINE 64u /* bytes of a cache line */
#define LANE_PLACES 8u
#define LANE_PLACE_BYTES 512u
#define LANE_MOST (LANE_PLACE_BYTES - 4 * sizeof(uint32_t)) /* bytes of a block */

/* Written by the sender, `turn` last. */
struct lane_place {
    _Alignas(LANE_LINE) _Atomic uint32_t turn; /* blocks that were in this lane, with this one */
    uint32_t size, tag;
    uint32_t after; /* blocks that went another way before it */
    unsigned char bytes[LANE_MOST];
};

struct lane {
    _Alignas(LANE_LINE) _Atomic uint32_t taken; /* by the receiver: so many places are free again */
    struct lane_place places[LANE_PLACES];
};

_Static_assert(sizeof(struct lane_place) == LANE_PLACE_BYTES, "whole cache lines");

/* What one end of a lane knows. Numbers start again at 2^32. */
struct lane_end {
    struct lane *lane;   /* NULL: there is none */
    uint32_t count;      /* blocks that were put into it, or taken */
    uint32_t other_ways; /* blocks that were sent, or taken, another way */
};

/* A free place for a block of that size; NULL: it must go another way. */
static inline struct lane_place *lane_find_free(const struct lane_end *out, size_t size)
{
    if (!out->lane || size > LANE_MOST ||
        out->count - atomic_load_explicit(&out->lane->taken, memory_order_acquire) == LANE_PLACES)
        return NULL;
    return &out->lane->places[out->count % LANE_PLACES];
}

/* The block is there: the receiver may have it. */
static inline void lane_put(struct lane_end *out, struct lane_place *place, size_t size)
{
    place->size = (uint32_t)size;
    place->after = out->other_ways;
    atomic_store_explicit(&place->turn, ++out->count, memory_order_release);
}

/* The next block, if it is there, and it is its turn. */
static inline struct lane_place *lane_look(const struct lane_end *in)
{
    if (!in->lane)
        return NULL;
    struct lane_place *place = &in->lane->places[in->count % LANE_PLACES];
    const bool there = atomic_load_explicit(&place->turn, memory_order_acquire) == in->count + 1;
    return there && place->after == in->other_ways ? place : NULL;
}

/* The receiver has done with the block that lane_look() has shown it. */
static inline void lane_take(struct lane_end *in)
{
    atomic_store_explicit(&in->lane->taken, ++in->count, memory_order_release);
}

#endif
