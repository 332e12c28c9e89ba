// SPDX-License-Identifier: MIT
#include "core/hash_map.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define FIRST_ROOM 64u

void cv_hash_map_free(struct cv_hash_map *map)
{
    free(map->entries);
    *map = (struct cv_hash_map){0};
}

/* Where the search for a key begins. */
static size_t home(const struct cv_hash_map *map, uint64_t key)
{
    const uint64_t hash = key * 0x9e3779b97f4a7c15u;
    return (size_t)(hash ^ hash >> 32) & (map->room - 1);
}

/* The place of the key, or the free place where it belongs. */
static struct cv_hash_entry *place_of(const struct cv_hash_map *map, uint64_t key)
{
    size_t at = home(map, key);
    while (map->entries[at].key && map->entries[at].key != key)
        at = (at + 1) & (map->room - 1);
    return &map->entries[at];
}

struct cv_hash_entry *cv_hash_map_find(const struct cv_hash_map *map, uint64_t key)
{
    struct cv_hash_entry *entry = key && map->room ? place_of(map, key) : NULL;
    return entry && entry->key ? entry : NULL;
}

static bool grow(struct cv_hash_map *map)
{
    struct cv_hash_map larger = {.room = map->room ? 2 * map->room : FIRST_ROOM, .count = map->count};
    larger.entries = calloc(larger.room, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->entries[i].key)
            *place_of(&larger, map->entries[i].key) = map->entries[i];
    free(map->entries);
    *map = larger;
    return true;
}

struct cv_hash_entry *cv_hash_map_add(struct cv_hash_map *map, uint64_t key)
{
    assert(key);
    if (2 * map->count >= map->room && !grow(map))
        return NULL;
    struct cv_hash_entry *entry = place_of(map, key);
    map->count += !entry->key;
    entry->key = key;
    return entry;
}

/* Closes the gap after the removed entry, so that probing still finds all others. */
void cv_hash_map_remove(struct cv_hash_map *map, struct cv_hash_entry *entry)
{
    const size_t mask = map->room - 1;
    size_t gap = (size_t)(entry - map->entries);
    for (size_t at = (gap + 1) & mask; map->entries[at].key; at = (at + 1) & mask)
        if (((at - home(map, map->entries[at].key)) & mask) >= ((at - gap) & mask)) {
            map->entries[gap] = map->entries[at];
            gap = at;
        }
    map->entries[gap] = (struct cv_hash_entry){0};
    map->count--;
}
