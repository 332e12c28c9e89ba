// SPDX-License-Identifier: MIT
/*
 * Fingerprints. The fingerprint of a state is the sum of the fingerprints of its slots, so a step adds only what it
 * changes. Each slot's fingerprint is mixed by two rounds of multiplication, so that neither small numbers nor their
 * differences show through.
 */
#ifndef CONCLAVE_CHECK_STATE_FINGERPRINT_H
#define CONCLAVE_CHECK_STATE_FINGERPRINT_H

#include <stdint.h>

/* For arithmetic on both halves at once. */
typedef uint64_t fingerprint_pair __attribute__((vector_size(16), aligned(8)));

/* 128 bits. The search compares the first 64, or all of them if the user asks for it (`wide`). */
struct fingerprint {
    union {
        uint64_t half[2];
        fingerprint_pair pair;
    };
};

static inline uint64_t fingerprint_mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

/* The fingerprint of a pair of numbers. */
static inline struct fingerprint fingerprint_of(uint32_t one, uint32_t other)
{
    const uint64_t pair = (uint64_t)one << 32 | other;
    const uint64_t first = fingerprint_mix(pair * 0x9e3779b97f4a7c15ull + 0x243f6a8885a308d3ull);
    const uint64_t second = fingerprint_mix(pair * 0xd1342543de82ef95ull + 0x13198a2e03707344ull);
    return (struct fingerprint){
        .half = {fingerprint_mix(first + 0xa4093822299f31d0ull), fingerprint_mix(second ^ 0x082efa98ec4e6c89ull)}};
}

static inline struct fingerprint fingerprint_add(struct fingerprint one, struct fingerprint other)
{
    return (struct fingerprint){.pair = one.pair + other.pair};
}

static inline struct fingerprint fingerprint_subtract(struct fingerprint one, struct fingerprint other)
{
    return (struct fingerprint){.pair = one.pair - other.pair};
}

#endif
