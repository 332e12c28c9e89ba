// SPDX-License-Identifier: MIT
/* The hash map against an array: what was added is found, with its value, until it is removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/hash_map.h"
#include "core/random.h"

#define KEYS 3000u

/* Keys of every kind: small numbers, pairs of nodes, multiples of the room. */
static uint64_t key_of(uint32_t index)
{
    switch (index % 3) {
    case 0:
        return 1 + index;
    case 1:
        return ((uint64_t)index << 32 | index % 7) + 1;
    default:
        return (uint64_t)index << 40;
    }
}

static void compare(const struct cv_hash_map *map, const uint64_t *model)
{
    size_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct cv_hash_entry *entry = cv_hash_map_find(map, key_of(i));
        assert_int_equal(entry ? entry->number : 0, model[i]);
        count += entry != NULL;
    }
    assert_int_equal(map->count, count);
    assert_true(2 * map->count <= map->room + 1);
}

static void keeps_what_was_added_until_it_is_removed(void **state)
{
    struct cv_hash_map map = {0};
    static uint64_t model[KEYS]; /* the value of each key; 0: it is not in the map */
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 1, 1);
    for (uint32_t step = 0; step < 60000; step++) {
        const uint32_t phase = step / 10000, index = (uint32_t)cv_random_below(&random, KEYS);
        const bool removes = cv_random_below(&random, 4) < (phase % 2 ? 3u : 1u); /* it grows and shrinks in turn */
        if (!removes) {
            struct cv_hash_entry *entry = cv_hash_map_add(&map, key_of(index));
            assert_non_null(entry);
            assert_int_equal(entry->number, model[index]);
            entry->number = model[index] = step + 1;
        } else if (model[index]) {
            cv_hash_map_remove(&map, cv_hash_map_find(&map, key_of(index)));
            model[index] = 0;
        }
        if (step % 1000 == 0)
            compare(&map, model);
    }
    compare(&map, model);
    cv_hash_map_free(&map);
    assert_null(cv_hash_map_find(&map, 1));
    assert_null(cv_hash_map_find(&map, 0));
}

/* A few keys in a small map, removed in every order: gaps are closed across the end of the table, too. */
static void closes_gaps(void **state)
{
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 2, 1);
    for (uint32_t story = 0; story < 2000; story++) {
        struct cv_hash_map map = {0};
        uint64_t keys[31];
        for (uint32_t i = 0; i < 31; i++) {
            keys[i] = 1 + cv_random_below(&random, UINT32_MAX);
            cv_hash_map_add(&map, keys[i])->number = keys[i];
        }
        for (uint32_t i = 0; i < 31; i++) {
            struct cv_hash_entry *entry = cv_hash_map_find(&map, keys[i]);
            if (entry)
                cv_hash_map_remove(&map, entry);
            assert_null(cv_hash_map_find(&map, keys[i]));
            for (uint32_t j = i + 1; j < 31; j++)
                assert_true(keys[j] == keys[i] || cv_hash_map_find(&map, keys[j])->number == keys[j]);
        }
        assert_int_equal(map.count, 0);
        cv_hash_map_free(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_added_until_it_is_removed),
        cmocka_unit_test(closes_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
