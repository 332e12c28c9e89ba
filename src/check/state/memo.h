// SPDX-License-Identifier: MIT
/*
 * Remembers the results of a pure function of two numbers. Threads may share a memo: they look up without a lock, and
 * add new results under one.
 */
#ifndef CONCLAVE_CHECK_STATE_MEMO_H
#define CONCLAVE_CHECK_STATE_MEMO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memo_entry {
    uint64_t one, other;
    _Atomic uint64_t result; /* written last; 0: the slot is free */
};

struct memo_table {
    struct memo_table *older; /* the smaller one before; a thread may still be reading it */
    size_t bytes;             /* of memory */
    size_t homes;             /* slots that a hash may point to */
    size_t last;              /* the last slot, which is always free */
    struct memo_entry entries[];
};

struct memo {
    struct memo_table *_Atomic table;
    size_t count;
    pthread_mutex_t lock; /* for adding */
};

/* 0 or CV_ENOMEM; free it in both cases. */
int memo_init(struct memo *memo);
void memo_free(struct memo *memo);

/* The bytes of memory, including older tables. */
size_t memo_bytes(const struct memo *memo);

/* Frees the older tables. No thread may be looking anything up. A zeroed memo is allowed. */
void memo_tidy(struct memo *memo);

static inline size_t memo_home(const struct memo_table *table, uint64_t one, uint64_t other)
{
    const uint64_t mixed = (one ^ other * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) & (table->homes - 1);
}

/* The slot where the search for an entry begins. It stays valid until memo_tidy(). */
static inline const struct memo_entry *memo_slot(const struct memo *memo, uint64_t one, uint64_t other)
{
    const struct memo_table *table = atomic_load_explicit(&memo->table, memory_order_acquire);
    return &table->entries[memo_home(table, one, other)];
}

/* The result, or 0 if it is unknown. Results are never 0. */
static inline uint64_t memo_find_at(const struct memo_entry *entry, uint64_t one, uint64_t other)
{
    for (;; entry++) {
        const uint64_t result = atomic_load_explicit(&entry->result, memory_order_acquire);
        if (!result || (entry->one == one && entry->other == other))
            return result;
    }
}

static inline uint64_t memo_find(const struct memo *memo, uint64_t one, uint64_t other)
{
    return memo_find_at(memo_slot(memo, one, other), one, other);
}

/* Adds a result and returns the one that is kept: another thread's if that came first. 0 if there is no memory. */
uint64_t memo_add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

/* Replaces the result of an entry that exists. */
void memo_change(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

#endif
