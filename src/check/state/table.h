// SPDX-License-Identifier: MIT
/*
 * The fingerprints of all states seen, each with its level and the fingerprint of its parent. Several threads may add
 * at once, but not while the table grows.
 *
 * A compact table takes 9 bytes for a slot instead of 16. It has no parents, and of the levels only as much as tells a
 * new state from an old one: somebody else must keep the parents.
 */
#ifndef CONCLAVE_CHECK_STATE_TABLE_H
#define CONCLAVE_CHECK_STATE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "check/state/fingerprint.h"
#include "core/apart.h"

#define TABLE_LOWER_48 ((1ull << 48) - 1)
#define TABLE_MOST_LEVEL 65533u

enum table_answer {
    TABLE_NEW,
    TABLE_OPEN, /* seen at this level; in a breadth-first search it is not expanded yet */
    TABLE_OLD,  /* seen at another level; in a breadth-first search an earlier one */
    TABLE_FULL  /* the table must grow first */
};

struct slot {
    _Atomic uint64_t fingerprint; /* 0: free */
    _Atomic uint64_t info;        /* lower 48 bits of the parent's fingerprint, then level + 1; 0: being written */
};

/*
 * What a compact table keeps of a level: levels count from 1 to TABLE_EPOCHS again and again. Before a number is used
 * again, all entries become TABLE_PAST: see table_begin_level().
 */
#define TABLE_EPOCHS 254u
#define TABLE_PAST (TABLE_EPOCHS + 1)

struct growth {
    uint64_t before; /* homes before */
    uint64_t low;    /* entries of the slots low .. high - 1 may move now */
    uint64_t high;
    _Atomic uint64_t taken; /* slots that threads have taken out of these */
};

struct table {
    struct slot *slots;                        /* NULL if `compact` */
    uint64_t *second;                          /* the second halves of the fingerprints, if `wide` */
    uint64_t room;                             /* slots that a fingerprint may point to, the homes; a few more follow */
    uint64_t last;                             /* the last slot */
    uint64_t most;                             /* entries; with more, the table must grow */
    uint64_t crowded;                          /* entries; with more, it should grow soon */
    bool wide;                                 /* compare both halves */
    bool compact;                              /* fingerprints and epochs are all there is: */
    _Atomic uint64_t *fingerprints;            /* 0: free */
    _Atomic uint8_t *epochs;                   /* of the level; 0: being written */
    struct growth growth;                      /* while it grows */
    _Alignas(CV_APART) _Atomic uint64_t count; /* entries; often written, so it has a cache line of its own */
};

int table_init(struct table *table, bool wide);
int table_init_compact(struct table *table, bool wide);
void table_free(struct table *table);

/* The bytes that it takes with that many homes. */
uint64_t table_bytes(const struct table *table, uint64_t room);

/*
 * Growth by several threads. One thread calls table_begin_growth(). Then these alternate: all threads call
 * table_move(); one thread calls table_go_on(), until it returns false. CV_ENOMEM: the table is as before.
 */
int table_begin_growth(struct table *table, uint64_t room);
void table_move(struct table *table);
bool table_go_on(struct table *table);

/* The whole growth by one thread. */
int table_grow(struct table *table, uint64_t room);

/* The level that is expanded from now on. The new states are a level deeper. No thread may be adding. */
void table_begin_level(struct table *table, uint32_t level);

/* Adds to a compact table, as table_add() does. */
enum table_answer table_add_compact(struct table *table, struct fingerprint fingerprint, uint32_t level);

/*
 * Adds an entry of an earlier search, which is not in the table and for which it has room. `info` is that of its slot,
 * and `depth` the level that is expanded next. False if it is there already.
 */
bool table_restore(struct table *table, uint64_t fingerprint, uint64_t second, uint64_t info, uint32_t depth);

/* The level of the state with this fingerprint, which must be in the table; at most TABLE_MOST_LEVEL. */
uint32_t table_level(const struct table *table, uint64_t fingerprint);

/* The parent of a state; false if it is the initial state. */
bool table_parent(const struct table *table, uint64_t fingerprint, uint64_t *parent);

static inline uint64_t table_home(const struct table *table, uint64_t fingerprint)
{
    const uint64_t high = fingerprint << 16;
#ifdef __wasm__ /* 128 bits take a call; there are fewer than 2^32 homes */
    return ((high >> 32) * table->room + ((high & UINT32_MAX) * table->room >> 32)) >> 32;
#else
    return (uint64_t)((unsigned __int128)high * table->room >> 64);
#endif
}

static inline void table_expect(const struct table *table, struct fingerprint fingerprint)
{
    const uint64_t home = table_home(table, fingerprint.half[0]);
    if (__builtin_expect(table->compact, 0)) {
        __builtin_prefetch(&table->fingerprints[home], 1);
        __builtin_prefetch(&table->epochs[home], 1);
        return;
    }
    const struct slot *slot = &table->slots[home];
#ifdef __wasm__ /* it has no prefetch; a read that nothing waits for does the same */
    (void)*(const volatile uint64_t *)(const volatile void *)&slot->fingerprint;
#else
    __builtin_prefetch(slot, 1); /* a write is likely */
#endif
}

/* Waits for another thread that is writing it. */
static inline uint64_t slot_info(const struct slot *slot)
{
    uint64_t info;
    while (!(info = atomic_load_explicit(&slot->info, memory_order_acquire)))
        ;
    return info;
}

/* The `info` of a slot. */
static inline uint64_t table_info(uint64_t parent, uint32_t level)
{
    return (parent & TABLE_LOWER_48) << 16 | (level + 1);
}

/*
 * The answer for a slot that holds the fingerprint already. Of several parents it keeps the one with the lowest
 * fingerprint, whichever came first.
 */
static inline enum table_answer slot_answer(struct slot *slot, uint64_t parent, uint32_t level)
{
    const uint64_t info = table_info(parent, level);
    uint64_t held = slot_info(slot);
    if ((held & 0xffff) != (info & 0xffff))
        return TABLE_OLD;
    while (info < held && !atomic_compare_exchange_weak(&slot->info, &held, info))
        ;
    return TABLE_OPEN;
}

static inline bool same_second(const struct table *table, uint64_t at, uint64_t second)
{
    return !table->wide || (slot_info(&table->slots[at]) && table->second[at] == second);
}

/* What the table holds for a fingerprint: a 0 would be a free slot. */
static inline uint64_t table_wanted(struct fingerprint fingerprint)
{
    return fingerprint.half[0] ? fingerprint.half[0] : 1;
}

static inline enum table_answer table_add(struct table *table, struct fingerprint fingerprint, uint64_t parent,
                                          uint32_t level)
{
    if (__builtin_expect(table->compact, 0))
        return table_add_compact(table, fingerprint, level);
    const uint64_t wanted = table_wanted(fingerprint);
    level = level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
    for (uint64_t at = table_home(table, wanted); at <= table->last; at++) {
        struct slot *slot = &table->slots[at];
        uint64_t held = atomic_load_explicit(&slot->fingerprint, memory_order_relaxed);
        if (!held) {
            if (atomic_load_explicit(&table->count, memory_order_relaxed) > table->most)
                return TABLE_FULL;
            if (atomic_compare_exchange_strong(&slot->fingerprint, &held, wanted)) {
                if (table->wide)
                    table->second[at] = fingerprint.half[1];
                atomic_store_explicit(&slot->info, table_info(parent, level), memory_order_release);
                return TABLE_NEW;
            }
        }
        if (held == wanted && same_second(table, at, fingerprint.half[1]))
            return slot_answer(slot, parent, level);
    }
    return TABLE_FULL;
}

/* Should it grow soon? */
static inline bool table_is_crowded(const struct table *table)
{
    return table->count > table->crowded;
}

#endif
