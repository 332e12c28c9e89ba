// SPDX-License-Identifier: MIT
/* Packed states. */
#ifndef CONCLAVE_CHECK_STATE_CHUNK_H
#define CONCLAVE_CHECK_STATE_CHUNK_H

#include <stdatomic.h>

#include "check/state/model.h"

#define CHUNK_BYTES ((size_t)1 << 16)

struct chunk {
    struct chunk *next;
    uint32_t slots;   /* of each state; channels that came into use later are empty in it */
    uint32_t count;   /* states */
    uint32_t room;    /* for states */
    uint32_t words[]; /* per state: the fingerprint, then the slots */
};

/* The same wherever a pointer has another size, so that a search takes states in the same order there. */
#define CHUNK_HEAD 24u
static_assert(sizeof(struct chunk) <= CHUNK_HEAD, "the head must fit");

static inline uint32_t chunk_stride(uint32_t slots)
{
    return slots + sizeof(struct fingerprint) / sizeof(uint32_t);
}

/* Makes it empty, for states with that many slots. */
static inline void chunk_begin(struct chunk *chunk, uint32_t slots)
{
    const size_t words = (CHUNK_BYTES - CHUNK_HEAD) / sizeof *chunk->words;
    *chunk = (struct chunk){.slots = slots, .room = (uint32_t)(words / chunk_stride(slots))};
}

static inline bool chunk_takes(const struct chunk *chunk, uint32_t slots)
{
    return chunk->slots >= slots && chunk->count < chunk->room;
}

/* Unpacks a state and sets its other slots, up to `slots`, to 0. */
static inline struct fingerprint chunk_state(const struct chunk *chunk, uint32_t index, uint32_t slots, uint32_t *state)
{
    struct fingerprint fingerprint;
    const uint32_t *words = chunk->words + (size_t)index * chunk_stride(chunk->slots);
    memcpy(&fingerprint, words, sizeof fingerprint);
    memcpy(state, words + sizeof fingerprint / sizeof *words, chunk->slots * sizeof *state);
    for (uint32_t slot = chunk->slots; slot < slots; slot++)
        state[slot] = 0;
    return fingerprint;
}

/* Appends a fingerprint and returns where its state goes. The chunk must have room. */
static inline uint32_t *chunk_append(struct chunk *chunk, struct fingerprint fingerprint)
{
    uint32_t *words = chunk->words + (size_t)chunk->count++ * chunk_stride(chunk->slots);
    memcpy(words, &fingerprint, sizeof fingerprint);
    return words + sizeof fingerprint / sizeof *words;
}

#endif
