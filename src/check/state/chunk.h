// SPDX-License-Identifier: MIT
/* States packed one behind the other. */
#ifndef CONCLAVE_CHECK_STATE_CHUNK_H
#define CONCLAVE_CHECK_STATE_CHUNK_H

#include <stdatomic.h>

#include "check/state/model.h"

#define CHUNK_BYTES ((size_t)1 << 16)

struct chunk {
    struct chunk *next;
    uint32_t slots; /* of each state; channels that came into use later are empty in it */
    uint32_t count;
    uint32_t room;
    uint32_t words[]; /* per state: the fingerprint, then the parts */
};

static inline uint32_t chunk_stride(uint32_t slots)
{
    return slots + sizeof(struct print) / sizeof(uint32_t);
}

/* An empty one, for states of so many parts. */
static inline void chunk_begin(struct chunk *chunk, uint32_t slots)
{
    const size_t words = (CHUNK_BYTES - sizeof *chunk) / sizeof *chunk->words;
    *chunk = (struct chunk){.slots = slots, .room = (uint32_t)(words / chunk_stride(slots))};
}

static inline bool chunk_takes(const struct chunk *chunk, uint32_t slots)
{
    return chunk->slots >= slots && chunk->count < chunk->room;
}

/* Unpacks a state; what it does not have is 0. `parts` of it are to be valid. */
static inline struct print chunk_state(const struct chunk *chunk, uint32_t index, uint32_t slots, uint32_t *state)
{
    struct print print;
    const uint32_t *words = chunk->words + (size_t)index * chunk_stride(chunk->slots);
    memcpy(&print, words, sizeof print);
    memcpy(state, words + sizeof print / sizeof *words, chunk->slots * sizeof *state);
    for (uint32_t slot = chunk->slots; slot < slots; slot++)
        state[slot] = 0;
    return print;
}

/* Where the next state of a chunk that has room goes: behind its fingerprint. */
static inline uint32_t *chunk_append(struct chunk *chunk, struct print print)
{
    uint32_t *words = chunk->words + (size_t)chunk->count++ * chunk_stride(chunk->slots);
    memcpy(words, &print, sizeof print);
    return words + sizeof print / sizeof *words;
}

#endif
