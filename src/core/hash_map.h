// SPDX-License-Identifier: MIT
/*
 * A hash map from numbers to numbers or pointers: open addressing, linear probing, a power of two of places, at most
 * half full. A zeroed map is empty. The simulator's channels, the checker and the set of a random graph's edges have
 * tables of their own, for speed or memory.
 */
#ifndef CONCLAVE_CORE_HASH_MAP_H
#define CONCLAVE_CORE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct cv_hash_entry {
    uint64_t key; /* 0: the place is free */
    union {
        uint64_t number;
        void *pointer;
    };
};

struct cv_hash_map {
    struct cv_hash_entry *entries;
    size_t room; /* places of `entries`; 0 or a power of two */
    size_t count;
};

/* Does not free what pointers point to. */
void cv_hash_map_free(struct cv_hash_map *map);

/* The entry of that key; NULL if there is none, as for the key 0. */
struct cv_hash_entry *cv_hash_map_find(const struct cv_hash_map *map, uint64_t key);

/* The entry of that key, which is not 0; a new one is zeroed. NULL if memory ran out. Adding may move other entries. */
struct cv_hash_entry *cv_hash_map_add(struct cv_hash_map *map, uint64_t key);

/* May move other entries. */
void cv_hash_map_remove(struct cv_hash_map *map, struct cv_hash_entry *entry);

#endif
