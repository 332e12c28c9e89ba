// SPDX-License-Identifier: MIT
/*
 * The seeded source of all randomness in a simulated run: xoshiro256** (Blackman, Vigna), seeded by splitmix64.
 * Integers only, so that a seed means the same run on every machine.
 */
#ifndef CONCLAVE_CORE_RANDOM_H
#define CONCLAVE_CORE_RANDOM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct cv_random {
    uint64_t word[4];
};

/* Streams of one seed are independent: drawing more from one changes nothing in another. */
void cv_random_seed(struct cv_random *random, uint64_t seed, uint64_t stream);

static inline uint64_t cv_random_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t cv_random_next(struct cv_random *random)
{
    uint64_t *word = random->word;
    const uint64_t result = cv_random_rotate(word[1] * 5, 7) * 9, shifted = word[1] << 17;
    word[2] ^= word[0];
    word[3] ^= word[1];
    word[1] ^= word[2];
    word[0] ^= word[3];
    word[2] ^= shifted;
    word[3] = cv_random_rotate(word[3], 45);
    return result;
}

/* Uniform in 0..limit-1, for limits of 1..2^32: the high half of a product, redrawn where it would favour some. */
static inline uint64_t cv_random_below(struct cv_random *random, uint64_t limit)
{
    assert(limit >= 1 && limit <= UINT64_C(1) << 32);
    uint64_t product = (cv_random_next(random) >> 32) * limit;
    if ((uint32_t)product < limit) {
        const uint32_t favoured = (uint32_t)((UINT64_C(1) << 32) % limit);
        while ((uint32_t)product < favoured)
            product = (cv_random_next(random) >> 32) * limit;
    }
    return product >> 32;
}

/* True with probability p, given as p * 2^32. */
static inline bool cv_random_chance(struct cv_random *random, uint64_t p_32)
{
    return cv_random_next(random) >> 32 < p_32;
}

/* Exponentially distributed with that mean, rounded up to whole ticks: at least 1. */
uint64_t cv_random_exponential(struct cv_random *random, uint64_t mean);

/* A random order of `count` numbers (Fisher, Yates). */
void cv_random_shuffle(struct cv_random *random, uint32_t *numbers, uint32_t count);

#endif
