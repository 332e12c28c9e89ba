// SPDX-License-Identifier: MIT
#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct cv_random seeded(uint64_t seed, uint64_t stream)
{
    struct cv_random random;
    cv_random_seed(&random, seed, stream);
    return random;
}

/* Are the counts, which should be equal, within five deviations (chi-square)? */
static void expect_even(const uint32_t *counts, uint32_t count)
{
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        total += counts[i];
    for (uint32_t i = 0; i < count; i++)
        sum += pow(counts[i] - total / count, 2) / (total / count);
    if (sum > count - 1 + 5 * sqrt(2 * (count - 1.0)))
        fail_msg("chi-square is %g over %u counts", sum, count);
}

static void expect_near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) > tolerance)
        fail_msg("%g is not within %g of %g", value, tolerance, expected);
}

/* Computed by a separate implementation in Python that was checked against published vectors of both generators. */
static void known_seeds_give_known_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, stream, output[3];
    } known[] = {
        {1, 0, {0xee127fe613436e33, 0xd6dad8d34a1874ea, 0x2a52c16cec1116a9}},
        {1, 1, {0x550e4e55a37114cc, 0xa645791d18940fdd, 0xebededf9628ebf4c}},
        {2, 0, {0xf028fb61c02c0fe6, 0x2b3126c538091517, 0xcd9e9d836c2b3732}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct cv_random random = seeded(known[i].seed, known[i].stream);
        for (int j = 0; j < 3; j++)
            assert_true(cv_random_next(&random) == known[i].output[j]);
    }
}

static int by_value(const void *left, const void *right)
{
    const uint64_t x = *(const uint64_t *)left, y = *(const uint64_t *)right;
    return (x > y) - (x < y);
}

static void seeds_and_streams_differ(void **state)
{
    (void)state;
    uint64_t first[2500];
    for (uint64_t i = 0; i < 2500; i++) {
        struct cv_random random = seeded(i / 50, i % 50);
        first[i] = cv_random_next(&random);
    }
    qsort(first, 2500, sizeof *first, by_value);
    for (int i = 1; i < 2500; i++)
        assert_true(first[i - 1] != first[i]);
}

static void below_favours_nothing(void **state)
{
    (void)state;
    struct cv_random random = seeded(3, 0);
    for (uint32_t limit = 1; limit <= 20; limit++) {
        uint32_t counts[20] = {0};
        for (int i = 0; i < 20000; i++) {
            const uint64_t drawn = cv_random_below(&random, limit);
            assert_true(drawn < limit);
            counts[drawn]++;
        }
        if (limit > 1)
            expect_even(counts, limit);
    }
}

/* Of 3 * 2^30 numbers, every third would be drawn twice as often without redrawing. */
static void below_redraws(void **state)
{
    (void)state;
    struct cv_random random = seeded(4, 0);
    uint32_t counts[3] = {0};
    uint64_t highest = 0;
    for (int i = 0; i < 30000; i++)
        counts[cv_random_below(&random, UINT64_C(3) << 30) % 3]++;
    expect_even(counts, 3);
    for (int i = 0; i < 1000; i++) {
        const uint64_t drawn = cv_random_below(&random, UINT32_MAX);
        assert_true(drawn < UINT32_MAX);
        highest = drawn > highest ? drawn : highest;
    }
    assert_true(highest > UINT32_MAX / 100 * 98u);
}

static void chance_keeps_its_probability(void **state)
{
    (void)state;
    struct cv_random random = seeded(5, 0);
    int quarter = 0;
    for (int i = 0; i < 40000; i++) {
        assert_false(cv_random_chance(&random, 0));
        assert_true(cv_random_chance(&random, UINT64_C(1) << 32));
        quarter += cv_random_chance(&random, UINT64_C(1) << 30);
    }
    expect_near(quarter / 40000.0, 0.25, 0.01);
}

static void exponential_has_its_mean_and_tail(void **state)
{
    (void)state;
    const uint64_t mean = 1000000;
    const int draws = 200000;
    struct cv_random random = seeded(6, 0);
    double sum = 0;
    int above[4] = {0};
    for (int i = 0; i < draws; i++) {
        const uint64_t drawn = cv_random_exponential(&random, mean);
        assert_true(drawn >= 1);
        sum += (double)drawn;
        for (uint64_t half = 1; half <= 4; half++)
            above[half - 1] += drawn > half * mean / 2;
    }
    expect_near(sum / draws, (double)mean, 0.01 * (double)mean);
    for (int half = 1; half <= 4; half++)
        expect_near((double)above[half - 1] / draws, exp(-half / 2.0), 0.005);
}

/* ---- chance by counter ---- */

/* Neighbours in every respect: nodes, clocks, seeds and streams that differ by one. */
static void draws_differ_and_are_even(void **state)
{
    (void)state;
    static uint64_t drawn[65536];
    uint32_t low[64] = {0}, high[64] = {0}, rises[2] = {0};
    size_t count = 0;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (uint64_t stream = 1; stream < 5; stream++) {
            struct cv_chance chance;
            cv_chance_seed(&chance, seed, stream);
            for (uint64_t what = 0; what < 64; what++)
                for (uint64_t number = 0; number < 64; number++)
                    drawn[count++] = cv_chance_draw(&chance, what << 32 | ((what + 1) % 64), number);
        }
    for (size_t i = 0; i < count; i++) {
        low[drawn[i] % 64]++;
        high[drawn[i] >> 58]++;
        rises[i && drawn[i] > drawn[i - 1]]++;
    }
    expect_even(low, 64);
    expect_even(high, 64);
    expect_even(rises, 2);
    qsort(drawn, count, sizeof *drawn, by_value);
    for (size_t i = 1; i < count; i++)
        assert_true(drawn[i - 1] != drawn[i]);
}

/* Each bit of what is drawn for decides about each bit of the number, half of the time. */
static void every_bit_counts(void **state)
{
    (void)state;
    struct cv_chance chance;
    cv_chance_seed(&chance, 7, 1);
    for (int bit = 0; bit < 128; bit++) {
        uint32_t flipped = 0;
        for (uint64_t i = 0; i < 512; i++) {
            const uint64_t what = i << 32 | (i + 1), changed = bit < 64 ? UINT64_C(1) << bit : 0;
            const uint64_t number = i * 3, other = bit < 64 ? 0 : UINT64_C(1) << (bit - 64);
            const uint64_t one = cv_chance_draw(&chance, what, number);
            flipped += (uint32_t)__builtin_popcountll(one ^ cv_chance_draw(&chance, what ^ changed, number ^ other));
        }
        expect_near(flipped / 512.0, 32, 1.5);
    }
}

/* The same distributions as those of a stream. */
static void draws_are_distributed(void **state)
{
    (void)state;
    struct cv_chance chance;
    cv_chance_seed(&chance, 8, 1);
    uint32_t thirds[3] = {0}, tens[10] = {0};
    int quarter = 0, above = 0;
    double sum = 0;
    const int draws = 100000;
    for (int i = 0; i < draws; i++) {
        const uint64_t drawn = cv_chance_draw(&chance, 5, (uint64_t)i), long_one = cv_chance_exponential(drawn, 1000);
        thirds[cv_chance_below(drawn, UINT64_C(3) << 30) % 3]++;
        tens[cv_chance_below(drawn, 10)]++;
        quarter += cv_chance_happens(drawn, UINT64_C(1) << 30);
        assert_true(long_one >= 1);
        sum += (double)long_one;
        above += long_one > 2000;
    }
    expect_even(thirds, 3);
    expect_even(tens, 10);
    expect_near(quarter / (double)draws, 0.25, 0.01);
    expect_near(sum / draws, 1000.5, 20);
    expect_near(above / (double)draws, exp(-2), 0.005);
}

/* A mean of one tick, rounded up: k ticks with the probability of k-1 < X <= k. */
static void exponential_rounds_up(void **state)
{
    (void)state;
    struct cv_random random = seeded(7, 0);
    int counts[3] = {0};
    for (int i = 0; i < 100000; i++) {
        const uint64_t drawn = cv_random_exponential(&random, 1);
        assert_true(drawn >= 1);
        if (drawn <= 3)
            counts[drawn - 1]++;
    }
    for (int i = 0; i < 3; i++)
        expect_near(counts[i] / 100000.0, exp(-i) - exp(-i - 1), 0.006);
}

static void shuffles_are_permutations(void **state)
{
    (void)state;
    struct cv_random random = seeded(8, 0);
    for (uint32_t count = 0; count <= 100; count++) {
        uint32_t numbers[100];
        bool seen[100] = {false};
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = i;
        cv_random_shuffle(&random, numbers, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(numbers[i] < count && !seen[numbers[i]]);
            seen[numbers[i]] = true;
        }
    }
}

static void all_orders_are_equally_likely(void **state)
{
    (void)state;
    struct cv_random random = seeded(9, 0);
    uint32_t counts[6] = {0};
    for (int i = 0; i < 60000; i++) {
        uint32_t numbers[3] = {0, 1, 2};
        cv_random_shuffle(&random, numbers, 3);
        counts[2 * numbers[0] + (numbers[1] > numbers[2])]++;
    }
    expect_even(counts, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_seeds_give_known_numbers),
        cmocka_unit_test(seeds_and_streams_differ),
        cmocka_unit_test(below_favours_nothing),
        cmocka_unit_test(below_redraws),
        cmocka_unit_test(chance_keeps_its_probability),
        cmocka_unit_test(exponential_has_its_mean_and_tail),
        cmocka_unit_test(exponential_rounds_up),
        cmocka_unit_test(shuffles_are_permutations),
        cmocka_unit_test(all_orders_are_equally_likely),
        cmocka_unit_test(draws_differ_and_are_even),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(draws_are_distributed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
