// SPDX-License-Identifier: MIT
/*
 * The fingerprints of all states seen, each with its level and the fingerprint of its parent. Several threads may add
 * at once, but not while the table grows.
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
    TABLE_OPEN, /* seen at this level; in a breadth-first search it is not expanded yet */
    TABLE_OLD,  /* seen at another level; in a breadth-first search an earlier one */
    TABLE_FULL  /* the table must grow first */
};

struct slot {
    _Atomic uint64_t fingerprint; /* 0: free */
    _Atomic uint64_t info;        /* lower 48 bits of the parent's fingerprint, then level + 1; 0: being written */
};

struct growth {
    uint64_t before; /* homes before */
    uint64_t low;    /* entries of the slots low .. high - 1 may move now */
    uint64_t high;
    _Atomic uint64_t taken; /* slots that threads have taken out of these */
};

struct table {
    struct slot *slots;
    uint64_t *second;                     /* the second halves of the fingerprints, if `wide` */
    uint64_t room;                        /* slots that a fingerprint may point to, the homes; a few more follow */
    uint64_t last;                        /* the last slot */
    uint64_t most;                        /* entries; with more, the table must grow */
    bool wide;                            /* compare both halves */
    struct growth growth;                 /* while it grows */
    _Alignas(128) _Atomic uint64_t count; /* entries; often written, so it has a cache line of its own */
};

int table_init(struct table *table, bool wide);
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
    const struct slot *slot = &table->slots[table_home(table, fingerprint.half[0])];
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

/* The answer for a slot that holds the fingerprint already. */
static inline enum table_answer slot_answer(const struct slot *slot, uint32_t level)
{
    return (slot_info(slot) & 0xffff) == (level & 0xffff) + 1 ? TABLE_OPEN : TABLE_OLD;
}

static inline bool same_second(const struct table *table, uint64_t at, uint64_t second)
{
    return !table->wide || (slot_info(&table->slots[at]) && table->second[at] == second);
}

static inline enum table_answer table_add(struct table *table, struct fingerprint fingerprint, uint64_t parent,
                                          uint32_t level)
{
    const uint64_t wanted = fingerprint.half[0] ? fingerprint.half[0] : 1;
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
                atomic_store_explicit(&slot->info, (parent & TABLE_LOWER_48) << 16 | (level + 1), memory_order_release);
                return TABLE_NEW;
            }
        }
        if (held == wanted && same_second(table, at, fingerprint.half[1]))
            return slot_answer(slot, level);
    }
    return TABLE_FULL;
}

/* Should it grow soon? */
static inline bool table_is_crowded(const struct table *table)
{
    return table->count > table->room / 10 * 7;
}

#endif
