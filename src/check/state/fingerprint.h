// SPDX-License-Identifier: MIT
/*
 * Fingerprints. The fingerprint of a state is the sum of the fingerprints of its slots, so a step adds only what it
 * changes. A slot's fingerprint depends on the bytes that it stands for and not on their number: a state has the same
 * one in every thread and in every process. It is mixed by two rounds of multiplication, so that differences do not
 * show through.
 */
#ifndef CONCLAVE_CHECK_STATE_FINGERPRINT_H
#define CONCLAVE_CHECK_STATE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
static inline struct fingerprint fingerprint_of(uint64_t one, uint64_t other)
{
    const uint64_t first = fingerprint_mix(one * 0x9e3779b97f4a7c15ull + 0x243f6a8885a308d3ull);
    const uint64_t second = fingerprint_mix(other * 0xd1342543de82ef95ull + 0x13198a2e03707344ull);
    return (struct fingerprint){.half = {fingerprint_mix(first + 3 * second + 0xa4093822299f31d0ull),
                                         fingerprint_mix((second ^ 0x082efa98ec4e6c89ull) + 5 * first)}};
}

/* The fingerprint of some bytes. It is the same on every machine that keeps them in the same order. */
static inline struct fingerprint fingerprint_of_bytes(const void *bytes, size_t length, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t one = seed * 0x9e3779b97f4a7c15ull + length, other = seed + length * 0xd1342543de82ef95ull;
    while (length > 0) {
        uint64_t word = 0;
        const size_t piece = length < sizeof word ? length : sizeof word;
        memcpy(&word, at, piece);
        one = (one ^ word) * 0xbf58476d1ce4e5b9ull;
        one ^= one >> 29;
        other = (other + word) * 0x94d049bb133111ebull;
        other ^= other >> 32;
        at += piece;
        length -= piece;
    }
    return fingerprint_of(one, other);
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
