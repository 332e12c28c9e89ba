// SPDX-License-Identifier: MIT
/*
 * Remembers the results of pure functions: two numbers in, one out. Threads may share one: they look things up without
 * a lock, and who has worked out something new adds it for all.
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
    struct memo_table *older; /* smaller; somebody may still be reading it */
    size_t bytes;             /* of memory */
    size_t homes, last;       /* of the slots; the last is always free */
    struct memo_entry entries[];
};

struct memo {
    struct memo_table *_Atomic table;
    size_t count;
    pthread_mutex_t lock; /* of who adds */
};

/* 0 or CV_ENOMEM; free it in both cases. */
int memo_init(struct memo *memo);
void memo_free(struct memo *memo);

/* Of memory, with the tables that are of no use any more. */
size_t memo_bytes(const struct memo *memo);

/* Frees those, while nobody is looking anything up. A memo that was never begun has none. */
void memo_tidy(struct memo *memo);

static inline size_t memo_home(const struct memo_table *table, uint64_t one, uint64_t other)
{
    const uint64_t mixed = (one ^ other * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) & (table->homes - 1);
}

/* Where the search for an entry begins. It may be asked for early, but memo_tidy() ends that. */
static inline const struct memo_entry *memo_slot(const struct memo *memo, uint64_t one, uint64_t other)
{
    const struct memo_table *table = atomic_load_explicit(&memo->table, memory_order_acquire);
    return &table->entries[memo_home(table, one, other)];
}

/* The result, or 0 if it is not known. Results are never 0. */
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

/* What is remembered from now on: another thread's result if it was faster. 0 if there is no memory. */
uint64_t memo_add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

/* Another result for what is there already. */
void memo_change(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

#endif
