// SPDX-License-Identifier: MIT
/* The calendar against a plain list: every record comes out at its tick, in the order the records were added. */
#include "sim/calendar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"

#define MOST_RECORDS 6000u

struct record {
    uint64_t bytes, number, due;
};

struct naive {
    struct record record[MOST_RECORDS]; /* in the order they were added; taken ones have `bytes` 0 */
    uint64_t count, pending;            /* pending: bytes not yet taken */
};

static void add(struct calendar *calendar, struct naive *naive, uint64_t due, uint64_t bytes)
{
    assert_true(naive->count < MOST_RECORDS);
    const struct record record = {bytes, naive->count, due};
    unsigned char *place = calendar_add(calendar, due, bytes);
    assert_non_null(place);
    memcpy(place, &record, sizeof record);
    memset(place + sizeof record, (int)(record.number % 251), bytes - sizeof record);
    naive->record[naive->count++] = record;
    naive->pending += bytes;
}

static uint64_t earliest(const struct naive *naive)
{
    uint64_t due = UINT64_MAX;
    for (uint64_t i = 0; i < naive->count; i++)
        if (naive->record[i].bytes && naive->record[i].due < due)
            due = naive->record[i].due;
    return due;
}

/* Takes the records of this tick from both and compares them. */
static void take(struct calendar *calendar, struct naive *naive)
{
    uint64_t expected = 0;
    for (struct calendar_part part = calendar_take(calendar); part.at; part = calendar_take_next(calendar, part)) {
        while (part.at < part.end) {
            struct record record;
            memcpy(&record, part.at, sizeof record);
            while (expected < naive->count &&
                   (!naive->record[expected].bytes || naive->record[expected].due != calendar->now))
                expected++;
            assert_true(expected < naive->count);
            assert_int_equal(record.number, expected);
            assert_int_equal(record.due, calendar->now);
            assert_int_equal(record.bytes, naive->record[expected].bytes);
            for (uint64_t i = sizeof record; i < record.bytes; i++)
                assert_int_equal(part.at[i], record.number % 251);
            naive->record[expected].bytes = 0;
            naive->pending -= record.bytes;
            part.at += record.bytes;
        }
    }
    for (uint64_t i = 0; i < naive->count; i++)
        assert_false(naive->record[i].bytes && naive->record[i].due == calendar->now);
}

/* Goes on to the next tick with something to do. False when nothing is left. */
static bool go_on(struct calendar *calendar, struct naive *naive)
{
    const uint64_t next = calendar_next(calendar), due = earliest(naive);
    assert_int_equal(calendar->pending, naive->pending);
    if (due == UINT64_MAX) {
        assert_true(next == UINT64_MAX);
        return false;
    }
    assert_true(next > calendar->now && next <= due);
    assert_int_equal(calendar_advance(calendar, next), 0);
    take(calendar, naive);
    return true;
}

/* How far ahead a record is due: mostly near, sometimes as far as allowed. */
static uint64_t draw_distance(struct cv_random *random, uint64_t longest)
{
    const uint64_t scale = (uint64_t)1 << cv_random_below(random, 24);
    const uint64_t most = scale < longest ? scale : longest;
    return cv_random_below(random, 20) ? 1 + cv_random_below(random, most) : most;
}

static void play(uint64_t longest, uint64_t seed)
{
    struct naive *naive = calloc(1, sizeof *naive);
    struct calendar calendar;
    struct cv_random random;
    cv_random_seed(&random, seed, 0);
    assert_non_null(naive);
    assert_int_equal(calendar_init(&calendar, longest), 0);
    assert_true(calendar_next(&calendar) == UINT64_MAX);
    add(&calendar, naive, draw_distance(&random, longest), 24);
    while (go_on(&calendar, naive)) {
        if (naive->count > 400)
            continue; /* let it get empty */
        for (uint64_t more = cv_random_below(&random, 4); more || !naive->pending; more -= more > 0)
            add(&calendar, naive, calendar.now + draw_distance(&random, longest),
                24 + 8 * cv_random_below(&random, cv_random_below(&random, 50) ? 6 : 1000));
    }
    assert_int_equal(calendar.pending, 0);
    calendar_free(&calendar);
    free(naive);
}

static void every_record_comes_out_at_its_tick_in_order(void **state)
{
    (void)state;
    static const uint64_t longest[] = {1, 2, 3, 63, 64, 1000, 4095, 4096, 8191, 8192, 100000, UINT64_MAX};
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            play(longest[i], seed);
}

/* Added to the same tick before and after the block in which it lies began. */
static void far_records_come_before_later_near_ones(void **state)
{
    (void)state;
    struct naive *naive = calloc(1, sizeof *naive);
    struct calendar calendar;
    assert_int_equal(calendar_init(&calendar, UINT64_MAX), 0);
    for (int i = 0; i < 3; i++)
        add(&calendar, naive, 5000, 24);
    add(&calendar, naive, 4097, 32);
    while (calendar.now < 4097)
        assert_true(go_on(&calendar, naive));
    for (int i = 0; i < 3; i++)
        add(&calendar, naive, 5000, 40);
    while (go_on(&calendar, naive))
        continue;
    assert_int_equal(calendar.now, 5000);
    calendar_free(&calendar);
    free(naive);
}

/* Records of the same place on the wheel, laps apart. */
static void laps_are_kept_apart(void **state)
{
    (void)state;
    struct naive *naive = calloc(1, sizeof *naive);
    struct calendar calendar;
    const uint64_t lap = 4096ull * CALENDAR_BLOCKS;
    assert_int_equal(calendar_init(&calendar, UINT64_MAX), 0);
    for (uint64_t i = 5; i-- > 0;)
        add(&calendar, naive, 10 + i * lap, 24);
    add(&calendar, naive, 10 + lap, 48);
    while (go_on(&calendar, naive))
        continue;
    assert_int_equal(calendar.now, 10 + 4 * lap);
    calendar_free(&calendar);
    free(naive);
}

/* In the steady state chunks are used again: no more of them than were ever full at once. */
static void chunks_are_reused(void **state)
{
    (void)state;
    struct calendar calendar;
    assert_int_equal(calendar_init(&calendar, 1), 0);
    const struct calendar_chunk *seen[4] = {NULL};
    for (uint64_t tick = 0; tick < 1000; tick++) {
        for (int i = 0; i < 10; i++)
            assert_non_null(calendar_add(&calendar, calendar.now + 1, 64));
        assert_int_equal(calendar_advance(&calendar, tick + 1), 0);
        for (struct calendar_part part = calendar_take(&calendar); part.at;
             part = calendar_take_next(&calendar, part)) {
            int i = 0;
            while (i < 4 && seen[i] && seen[i] != part.chunk)
                i++;
            assert_true(i < 4);
            seen[i] = part.chunk;
        }
        assert_int_equal(calendar.chunks, 0);
    }
    calendar_free(&calendar);
}

/* Records written straight to a list, before and after others that were added. */
static void a_list_can_be_written_to(void **state)
{
    (void)state;
    struct calendar calendar;
    uint64_t sent = 0, taken = 0;
    assert_int_equal(calendar_init(&calendar, 1), 0);
    for (uint64_t tick = 0; tick < 200; tick++) {
        for (uint64_t round = 0; round < tick % 7; round++) {
            struct calendar_list *list = calendar_open(&calendar, tick + 1);
            size_t bytes = 0;
            for (; bytes < tick && (size_t)(list->limit - list->write) >= bytes + sizeof sent; bytes += sizeof sent)
                memcpy(list->write + bytes, &(uint64_t){sent++}, sizeof sent);
            calendar_close(&calendar, tick + 1, bytes);
            memcpy(calendar_add(&calendar, tick + 1, sizeof sent), &(uint64_t){sent++}, sizeof sent);
        }
        assert_true(calendar_next(&calendar) == (tick % 7 ? tick + 1 : UINT64_MAX));
        assert_int_equal(calendar_advance(&calendar, tick + 1), 0);
        for (struct calendar_part part = calendar_take(&calendar); part.at; part = calendar_take_next(&calendar, part))
            for (; part.at < part.end; part.at += sizeof taken, taken++)
                assert_memory_equal(part.at, &taken, sizeof taken);
        assert_int_equal(taken, sent);
        assert_int_equal(calendar.pending, 0);
    }
    calendar_free(&calendar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_out_at_its_tick_in_order),
        cmocka_unit_test(far_records_come_before_later_near_ones),
        cmocka_unit_test(laps_are_kept_apart),
        cmocka_unit_test(chunks_are_reused),
        cmocka_unit_test(a_list_can_be_written_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
