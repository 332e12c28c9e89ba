// SPDX-License-Identifier: MIT
/* Remembers the results of pure functions: two numbers in, one out. Each thread has its own, so there is no lock. */
#ifndef CONCLAVE_CHECK_MEMO_H
#define CONCLAVE_CHECK_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memo_entry {
    uint64_t one, other;
    uint64_t result; /* 0: the slot is free */
};

struct memo {
    struct memo_entry *entries;
    size_t mask, count;
};

int memo_init(struct memo *memo);
void memo_free(struct memo *memo);

static inline size_t memo_bytes(const struct memo *memo)
{
    return (memo->mask + 1) * sizeof *memo->entries;
}

static inline size_t memo_place(const struct memo *memo, uint64_t one, uint64_t other)
{
    const uint64_t mixed = (one ^ other * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) & memo->mask;
}

/* The result, or 0 if it is not known. Results are never 0. `at`: its memo_place(). */
static inline uint64_t memo_find_at(const struct memo *memo, size_t at, uint64_t one, uint64_t other)
{
    for (;; at = (at + 1) & memo->mask) {
        const struct memo_entry *entry = &memo->entries[at];
        if ((entry->one == one && entry->other == other) || !entry->result)
            return entry->result;
    }
}

static inline uint64_t memo_find(const struct memo *memo, uint64_t one, uint64_t other)
{
    return memo_find_at(memo, memo_place(memo, one, other), one, other);
}

/* 0 or CV_ENOMEM. */
int memo_add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

/* Another result for what is there already. */
void memo_change(struct memo *memo, uint64_t one, uint64_t other, uint64_t result);

#endif
