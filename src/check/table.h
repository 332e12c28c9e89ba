// SPDX-License-Identifier: MIT
/*
 * The fingerprints of all states seen, with the level each was first seen at and where from. Any number of threads add
 * at the same time; nobody adds while the table grows.
 */
#ifndef CONCLAVE_CHECK_TABLE_H
#define CONCLAVE_CHECK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "check/print.h"

#define TABLE_MOST_LEVEL 65533u

enum table_answer {
    TABLE_NEW,
    TABLE_OPEN, /* seen, at this level: it has not been expanded yet */
    TABLE_OLD,  /* seen at an earlier level */
    TABLE_FULL  /* the table must grow first */
};

struct slot {
    _Atomic uint64_t print; /* 0: free */
    _Atomic uint64_t info;  /* the lower 48 bits of the parent's print, then level + 1; 0: being written */
};

struct table {
    struct slot *slots;
    uint64_t *second; /* the other half of the prints, if they are to be compared */
    uint64_t room;
    _Atomic uint64_t count;
    bool wide;
};

int table_init(struct table *table, bool wide);
void table_free(struct table *table);

/* The bytes it takes with so much room. */
uint64_t table_bytes(const struct table *table, uint64_t room);

/* 0 or CV_ENOMEM; then it is as before. */
int table_grow(struct table *table, uint64_t room);

enum table_answer table_add(struct table *table, struct print print, uint64_t parent, uint32_t level);

/* The print of the state that the one with this print was first seen from; false if it is the first of all. */
bool table_parent(const struct table *table, uint64_t print, uint64_t *parent);

static inline uint64_t table_home(const struct table *table, uint64_t print)
{
    return (uint64_t)((unsigned __int128)(print << 16) * table->room >> 64);
}

static inline void table_expect(const struct table *table, struct print print)
{
    __builtin_prefetch(&table->slots[table_home(table, print.half[0])]);
}

#endif
