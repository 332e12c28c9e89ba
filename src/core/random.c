// SPDX-License-Identifier: MIT
#include "core/random.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void cv_random_seed(struct cv_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = splitmix(&state) ^ stream * 0xd1342543de82ef95u;
    for (int i = 0; i < 4; i++)
        random->word[i] = splitmix(&state);
}

void cv_chance_seed(struct cv_chance *chance, uint64_t seed, uint64_t stream)
{
    struct cv_random random;
    cv_random_seed(&random, seed, stream);
    for (int i = 0; i < 4; i++)
        chance->word[i] = random.word[i];
}

/*
 * Von Neumann's method needs comparisons alone: draw uniforms u1 >= u2 >= ... until one rises. After an odd number of
 * draws u1 is the fraction; after an even number count one whole mean and begin again.
 */
uint64_t cv_random_exponential(struct cv_random *random, uint64_t mean)
{
    for (uint64_t whole = 0;; whole++) {
        const uint64_t first = cv_random_next(random);
        uint64_t last = first;
        bool odd = true;
        for (;; odd = !odd) {
            const uint64_t next = cv_random_next(random);
            if (next > last)
                break;
            last = next;
        }
        if (odd)
            return whole * mean + (uint64_t)((unsigned __int128)first * mean >> 64) + 1;
    }
}

/* The same method. The draw's further numbers are those of splitmix64. */
uint64_t cv_chance_exponential(uint64_t drawn, uint64_t mean)
{
    for (uint64_t whole = 0;; whole++) {
        const uint64_t first = drawn;
        uint64_t last = first;
        bool odd = true;
        for (;; odd = !odd) {
            drawn = cv_chance_again(drawn);
            if (drawn > last)
                break;
            last = drawn;
        }
        if (odd)
            return whole * mean + (uint64_t)((unsigned __int128)first * mean >> 64) + 1;
        drawn = cv_chance_again(drawn);
    }
}

void cv_random_shuffle(struct cv_random *random, uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = (uint32_t)cv_random_below(random, i);
        const uint32_t swapped = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = swapped;
    }
}
