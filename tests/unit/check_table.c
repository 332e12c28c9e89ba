// SPDX-License-Identifier: MIT
/* The checker's table: however it grows, it has all entries with their parents, and no others. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/state/arena.h"
#include "check/state/memory.h"
#include "check/state/table.h"
#include "core/random.h"

#define MOST 1000000u

static struct fingerprint print_number(uint64_t number)
{
    return fingerprint_of(number, 1); /* no two of the first millions share 48 bits */
}

/* Every number is the child of the one before, a level deeper every hundred. */
static void add(struct table *table, uint64_t number)
{
    const uint64_t parent = number ? print_number(number - 1).half[0] : 0;
    assert_int_equal(table_add(table, print_number(number), parent, (uint32_t)number / 100), TABLE_NEW);
    table->count++;
}

static void find_all(struct table *table, uint64_t count)
{
    for (uint64_t number = 1; number < count; number++) {
        uint64_t parent;
        assert_true(table_parent(table, print_number(number).half[0], &parent));
        assert_int_equal(parent, print_number(number - 1).half[0] & TABLE_LOWER_48);
        const uint32_t level = (uint32_t)number / 100;
        assert_int_equal(table_add(table, print_number(number), TABLE_LOWER_48, level), TABLE_OPEN);
        assert_int_equal(table_add(table, print_number(number), 0, level + 1), TABLE_OLD);
    }
}

static uint64_t count_slots(const struct table *table)
{
    uint64_t count = 0;
    for (uint64_t at = 0; at <= table->last; at++)
        count += table->slots[at].fingerprint != 0;
    return count;
}

static void *move(void *table)
{
    table_move(table);
    return NULL;
}

/* All entries that may move at the same time are moved by several threads. */
static void grow_together(struct table *table, uint64_t room)
{
    pthread_t threads[3];
    assert_int_equal(table_begin_growth(table, room), 0);
    do {
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, move, table), 0);
        for (size_t i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    } while (table_go_on(table));
}

/* The table is filled each time, then grows by a factor between 17/16 and 4. */
static void grow_again_and_again(bool wide)
{
    struct table table;
    struct cv_random random;
    uint64_t count = 0;
    cv_random_seed(&random, 1, wide);
    assert_int_equal(table_init(&table, wide), 0);
    while (count < MOST) {
        while (table.count <= table.most)
            add(&table, count++);
        assert_int_equal(table_add(&table, print_number(count), 1, 1), TABLE_FULL);
        const uint64_t sixteenths = 1 + cv_random_below(&random, 48);
        grow_together(&table, table.room + table.room / 16 * sixteenths);
        find_all(&table, count);
        assert_int_equal(count_slots(&table), count);
    }
    table_free(&table);
}

static void narrow_tables_grow(void **context)
{
    (void)context;
    grow_again_and_again(false);
}

static void wide_tables_grow(void **context)
{
    (void)context;
    grow_again_and_again(true);
}

/* Of several parents of one level the one with the lowest fingerprint is kept; those of other levels do not count. */
static void lowest_parent_is_kept(void **context)
{
    (void)context;
    struct table table;
    uint64_t parent;
    const uint64_t parents[] = {50, 70, 20, 60, 30};
    assert_int_equal(table_init(&table, false), 0);
    assert_int_equal(table_add(&table, print_number(7), 40, 3), TABLE_NEW);
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++)
        assert_int_equal(table_add(&table, print_number(7), parents[i], 3), TABLE_OPEN);
    assert_int_equal(table_add(&table, print_number(7), 10, 4), TABLE_OLD);
    assert_true(table_parent(&table, print_number(7).half[0], &parent));
    assert_int_equal(parent, 20);
    table_free(&table);
}

/* Second halves distinguish two states with the same first half. */
static void second_halves_count(void **context)
{
    (void)context;
    struct table table;
    struct fingerprint fingerprint = print_number(7), other = fingerprint;
    other.half[1]++;
    assert_int_equal(table_init(&table, true), 0);
    assert_int_equal(table_add(&table, fingerprint, 0, 0), TABLE_NEW);
    assert_int_equal(table_add(&table, other, 0, 0), TABLE_NEW);
    table.count = 2;
    assert_int_equal(table_grow(&table, table.room * 2), 0);
    assert_int_equal(table_add(&table, fingerprint, 0, 0), TABLE_OPEN);
    assert_int_equal(table_add(&table, other, 0, 0), TABLE_OPEN);
    table_free(&table);
}

/* A compact table knows new states from old ones however it grows, also after more levels than there are epochs. */
static void grow_compact(bool wide)
{
    struct table table;
    struct cv_random random;
    uint64_t count = 0;
    cv_random_seed(&random, 2, wide);
    assert_int_equal(table_init_compact(&table, wide), 0);
    for (uint32_t level = 0; count < MOST / 2; level++) {
        const uint64_t before = count;
        for (uint64_t i = 0; i < 500 && table.count <= table.most; i++) {
            assert_int_equal(table_add(&table, print_number(count++), 0, level + 1), TABLE_NEW);
            table.count++;
        }
        for (uint64_t number = before; number < count; number++)
            assert_int_equal(table_add(&table, print_number(number), 0, level + 1), TABLE_OPEN);
        for (uint64_t i = 0; i < 100 && before; i++)
            assert_int_equal(table_add(&table, print_number(cv_random_below(&random, before)), 0, level + 1),
                             TABLE_OLD);
        if (table.count > table.most) {
            assert_int_equal(table_add(&table, print_number(count), 1, 1), TABLE_FULL);
            grow_together(&table, table.room + table.room / 16 * (1 + cv_random_below(&random, 48)));
        }
        table_begin_level(&table, level + 1);
    }
    for (uint64_t number = 0; number < count; number++)
        assert_int_not_equal(table_add(&table, print_number(number), 0, 0), TABLE_NEW);
    uint64_t slots = 0;
    for (uint64_t at = 0; at <= table.last; at++)
        slots += table.fingerprints[at] != 0;
    assert_int_equal(slots, count);
    assert_true(table_bytes(&table, table.room) <= (table.room + 4096) * (wide ? 17 : 9));
    table_free(&table);
}

static void compact_tables_grow(void **context)
{
    (void)context;
    grow_compact(false);
}

static void wide_compact_tables_grow(void **context)
{
    (void)context;
    grow_compact(true);
}

static void arenas_give_pieces_apart(void **context)
{
    (void)context;
    struct arena arena = {0};
    unsigned char *before = NULL;
    size_t size_before = 0;
    for (size_t i = 1; i < 3000; i++) {
        const size_t size = i * 37 % 5000 + 1;
        unsigned char *piece = arena_take(&arena, size);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % (size < 64 ? 8 : 64), 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(piece[at], 0);
        for (size_t at = 0; at < size; at++)
            piece[at] = (unsigned char)i;
        for (size_t at = 0; at < size_before; at++)
            assert_int_equal(before[at], (unsigned char)(i - 1));
        before = piece;
        size_before = size;
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_tables_grow),       cmocka_unit_test(wide_tables_grow),
        cmocka_unit_test(compact_tables_grow),      cmocka_unit_test(wide_compact_tables_grow),
        cmocka_unit_test(second_halves_count),      cmocka_unit_test(lowest_parent_is_kept),
        cmocka_unit_test(arenas_give_pieces_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
