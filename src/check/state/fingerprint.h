// SPDX-License-Identifier: MIT
/*
 * Fingerprints. That of a state is the sum of those of its parts, so that a step only adds what it changes. Each part's
 * is as good as random: two rounds of multiplying, so that neither small numbers nor their differences show through.
 */
#ifndef CONCLAVE_CHECK_STATE_FINGERPRINT_H
#define CONCLAVE_CHECK_STATE_FINGERPRINT_H

#include <stdint.h>

/* Both halves at once. */
typedef uint64_t print_pair __attribute__((vector_size(16), aligned(8)));

/* 128 bits; the first 64 are used unless more are asked for. */
struct print {
    union {
        uint64_t half[2];
        print_pair pair;
    };
};

static inline uint64_t print_mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

/* Of a pair of small numbers; different pairs, different prints. */
static inline struct print print_of(uint32_t one, uint32_t other)
{
    const uint64_t pair = (uint64_t)one << 32 | other;
    const uint64_t first = print_mix(pair * 0x9e3779b97f4a7c15ull + 0x243f6a8885a308d3ull);
    const uint64_t second = print_mix(pair * 0xd1342543de82ef95ull + 0x13198a2e03707344ull);
    return (struct print){
        .half = {print_mix(first + 0xa4093822299f31d0ull), print_mix(second ^ 0x082efa98ec4e6c89ull)}};
}

static inline struct print print_plus(struct print one, struct print other)
{
    return (struct print){.pair = one.pair + other.pair};
}

static inline struct print print_minus(struct print one, struct print other)
{
    return (struct print){.pair = one.pair - other.pair};
}

#endif
