// SPDX-License-Identifier: MIT
/*
 * The seeded sources of all randomness: a stream, xoshiro256** (Blackman, Vigna), seeded by splitmix64; and draws by
 * counter, for what happens in a simulated run. Integers only, so that a seed means the same run on every machine.
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

/* ---- chance by counter ---- */

/*
 * Draws that depend on the seed, on a stream of it, and on what they are for, but on no other draw: whoever computes a
 * part of a run gets the numbers of that part. Two multiplications of 64 by 64 bits mix them (after wyhash, Wang Yi).
 */
struct cv_chance {
    uint64_t word[4];
};

void cv_chance_seed(struct cv_chance *chance, uint64_t seed, uint64_t stream);

static inline uint64_t cv_chance_draw(const struct cv_chance *chance, uint64_t what, uint64_t number)
{
    const unsigned __int128 mixed = (unsigned __int128)(what ^ chance->word[0]) * (number ^ chance->word[1]);
    const unsigned __int128 again =
        (unsigned __int128)((uint64_t)mixed ^ chance->word[2]) * ((uint64_t)(mixed >> 64) ^ chance->word[3]);
    return (uint64_t)again ^ (uint64_t)(again >> 64);
}

/* The next number of the same draw, for what needs several: the finalizer of splitmix64. */
static inline uint64_t cv_chance_again(uint64_t drawn)
{
    uint64_t z = drawn + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* As cv_random_below(), cv_random_chance() and cv_random_exponential(), from a number that was drawn. */
static inline uint64_t cv_chance_below(uint64_t drawn, uint64_t limit)
{
    assert(limit >= 1 && limit <= UINT64_C(1) << 32);
    uint64_t product = (drawn >> 32) * limit;
    if ((uint32_t)product < limit) {
        const uint32_t favoured = (uint32_t)((UINT64_C(1) << 32) % limit);
        while ((uint32_t)product < favoured) {
            drawn = cv_chance_again(drawn);
            product = (drawn >> 32) * limit;
        }
    }
    return product >> 32;
}

static inline bool cv_chance_happens(uint64_t drawn, uint64_t p_32)
{
    return drawn >> 32 < p_32;
}

uint64_t cv_chance_exponential(uint64_t drawn, uint64_t mean);

/* ---- shuffling ---- */

/* A random order of `count` numbers (Fisher, Yates). */
void cv_random_shuffle(struct cv_random *random, uint32_t *numbers, uint32_t count);

#endif
