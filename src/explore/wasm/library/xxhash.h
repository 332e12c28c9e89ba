// SPDX-License-Identifier: MIT
/*
 * A hash in place of xxHash, whose package is the machine's own. The checker looks byte strings up by it and compares
 * them afterwards, so no answer depends on its value.
 */
#ifndef CONCLAVE_EXPLORE_WASM_LIBRARY_XXHASH_H
#define CONCLAVE_EXPLORE_WASM_LIBRARY_XXHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t XXH3_64bits(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    for (uint64_t word; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 31;
    }
    for (; size; size--)
        hash = (hash ^ *at++) * 0x94d049bb133111ebu;
    return hash ^ hash >> 32;
}

#endif
