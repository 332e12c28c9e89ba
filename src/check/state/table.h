// SPDX-License-Identifier: MIT
/*
 * The fingerprints of all states seen, with the level each was first seen at and where from. Any number of threads add
 * at the same time; nobody adds while the table grows.
 */
#ifndef CONCLAVE_CHECK_STATE_TABLE_H
#define CONCLAVE_CHECK_STATE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "check/state/fingerprint.h"

#define TABLE_LOWER_48 ((1ull << 48) - 1)
#define TABLE_MOST_LEVEL 65533u

enum table_answer {
    TABLE_NEW,
    TABLE_OPEN, /* seen, at this level: breadth first it has not been expanded yet */
    TABLE_OLD,  /* seen, at another level: breadth first an earlier one */
    TABLE_FULL  /* the table must grow first */
};

struct slot {
    _Atomic uint64_t print; /* 0: free */
    _Atomic uint64_t info;  /* the lower 48 bits of the parent's print, then level + 1; 0: being written */
};

/* While it grows: how many homes there were; the slots whose entries may move now, and how many have been taken. */
struct growth {
    uint64_t before, low, high;
    _Atomic uint64_t taken;
};

struct table {
    struct slot *slots;
    uint64_t *second; /* the other half of the prints, if they are to be compared */
    uint64_t room;    /* homes; a few more slots are behind them */
    uint64_t last;    /* slot */
    uint64_t most;    /* entries, then it must grow */
    bool wide;
    struct growth growth;
    _Alignas(128) _Atomic uint64_t count; /* written all the time, so it has a line of the cache to itself */
};

int table_init(struct table *table, bool wide);
void table_free(struct table *table);

/* The bytes it takes with so much room. */
uint64_t table_bytes(const struct table *table, uint64_t room);

/*
 * To let it grow: one thread begins. Then, again and again, any number of threads move entries till none is left, and
 * one thread goes on, alone, till that says that it is done. Beginning: 0 or CV_ENOMEM; then the table is as before.
 */
int table_begin_growth(struct table *table, uint64_t room);
void table_move(struct table *table);
bool table_go_on(struct table *table);

/* All of it by one thread. */
int table_grow(struct table *table, uint64_t room);

/* The level that the state with this print was first seen at, which must be there; no more than the most. */
uint32_t table_level(const struct table *table, uint64_t print);

/* The print of the state that the one with this print was first seen from; false if it is the first of all. */
bool table_parent(const struct table *table, uint64_t print, uint64_t *parent);

static inline uint64_t table_home(const struct table *table, uint64_t print)
{
    return (uint64_t)((unsigned __int128)(print << 16) * table->room >> 64);
}

static inline void table_expect(const struct table *table, struct print print)
{
    __builtin_prefetch(&table->slots[table_home(table, print.half[0])], 1); /* most likely it is written */
}

/* Another thread may be about to write it. */
static inline uint64_t slot_info(const struct slot *slot)
{
    uint64_t info;
    while (!(info = atomic_load_explicit(&slot->info, memory_order_acquire)))
        ;
    return info;
}

/* What is known of a slot that holds this print already. */
static inline enum table_answer seen(const struct slot *slot, uint32_t level)
{
    return (slot_info(slot) & 0xffff) == (level & 0xffff) + 1 ? TABLE_OPEN : TABLE_OLD;
}

static inline bool same_second(const struct table *table, uint64_t at, uint64_t second)
{
    return !table->wide || (slot_info(&table->slots[at]) && table->second[at] == second);
}

static inline enum table_answer table_add(struct table *table, struct print print, uint64_t parent, uint32_t level)
{
    const uint64_t wanted = print.half[0] ? print.half[0] : 1;
    level = level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
    for (uint64_t at = table_home(table, wanted); at <= table->last; at++) {
        struct slot *slot = &table->slots[at];
        uint64_t held = atomic_load_explicit(&slot->print, memory_order_relaxed);
        if (!held) {
            if (atomic_load_explicit(&table->count, memory_order_relaxed) > table->most)
                return TABLE_FULL;
            if (atomic_compare_exchange_strong(&slot->print, &held, wanted)) {
                if (table->wide)
                    table->second[at] = print.half[1];
                atomic_store_explicit(&slot->info, (parent & TABLE_LOWER_48) << 16 | (level + 1), memory_order_release);
                return TABLE_NEW;
            }
        }
        if (held == wanted && same_second(table, at, print.half[1]))
            return seen(slot, level);
    }
    return TABLE_FULL;
}

/* Better larger soon. */
static inline bool table_is_crowded(const struct table *table)
{
    return table->count > table->room / 10 * 7;
}

#endif
