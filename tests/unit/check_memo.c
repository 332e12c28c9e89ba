// SPDX-License-Identifier: MIT
/* All threads find what one thread has added, however often the memo grows meanwhile. The first result counts. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/state/memo.h"
#include "core/random.h"

#define THREADS 4u
#define KEYS 60000u

/* A thread that adds all keys in an order of its own, and looks up an earlier one after each. */
struct adder {
    pthread_t thread;
    struct memo *memo;
    uint64_t number;
    uint32_t order[KEYS];
    uint64_t results[KEYS]; /* what memo_add() returned */
    uint32_t lost;
};

static uint64_t one_of(uint32_t key)
{
    return key / 300;
}

static uint64_t other_of(uint32_t key)
{
    return (uint64_t)(key % 300) << 20;
}

static void shuffle(struct adder *adder, struct cv_random *random)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint32_t at = (uint32_t)cv_random_below(random, i + 1);
        adder->order[i] = adder->order[at];
        adder->order[at] = i;
    }
}

static void *add_all(void *argument)
{
    struct adder *adder = argument;
    struct cv_random random;
    cv_random_seed(&random, 2, adder->number);
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint32_t key = adder->order[i], earlier = adder->order[cv_random_below(&random, i + 1)];
        adder->results[key] = memo_add(adder->memo, one_of(key), other_of(key), (uint64_t)key << 8 | adder->number);
        adder->lost += memo_find(adder->memo, one_of(earlier), other_of(earlier)) != adder->results[earlier];
    }
    return NULL;
}

static void check_all(const struct memo *memo, const struct adder *adders)
{
    for (uint32_t key = 0; key < KEYS; key++) {
        const uint64_t result = memo_find(memo, one_of(key), other_of(key));
        assert_int_equal(result >> 8, key);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(adders[i].results[key], result);
    }
    assert_int_equal(memo_find(memo, one_of(KEYS), other_of(KEYS)), 0);
    assert_int_equal(memo_find(memo, 0, 1), 0);
}

static void threads_share_what_they_add(void **context)
{
    (void)context;
    static struct adder adders[THREADS];
    struct memo memo;
    struct cv_random random;
    cv_random_seed(&random, 1, 1);
    assert_int_equal(memo_init(&memo), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        adders[i].memo = &memo;
        adders[i].number = i + 1;
        shuffle(&adders[i], &random);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_all, &adders[i]), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(adders[i].thread, NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(adders[i].lost, 0);
    assert_int_equal(memo.count, KEYS);
    check_all(&memo, adders);

    const size_t before = memo_bytes(&memo);
    memo_tidy(&memo);
    assert_true(memo_bytes(&memo) < before);
    check_all(&memo, adders);
    memo_free(&memo);
}

static void results_may_change(void **context)
{
    (void)context;
    struct memo memo;
    assert_int_equal(memo_init(&memo), 0);
    for (uint64_t key = 0; key < 5000; key++)
        assert_int_equal(memo_add(&memo, key, 7, key + 1), key + 1);
    for (uint64_t key = 0; key < 5000; key += 2)
        memo_change(&memo, key, 7, key + 10);
    for (uint64_t key = 0; key < 5000; key++)
        assert_int_equal(memo_find(&memo, key, 7), key + (key % 2 ? 1 : 10));
    memo_free(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_what_they_add),
        cmocka_unit_test(results_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
