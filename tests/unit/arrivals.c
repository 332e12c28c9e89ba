// SPDX-License-Identifier: MIT
/* The order of a tick's messages against a plain insertion sort by (receiver, sender, number). */
#include "sim/arrivals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 3000u
#define BEHIND 16u /* bytes after each message */

struct sent {
    cv_node to, from;
    uint32_t number; /* messages of one channel stay in the order of their numbers */
    uint32_t rank;   /* of the sender, at the receiver */
};

static struct sent expected[MOST];
static uint32_t expected_count;

/* The texts' words: the predecessor first, then the node before it, and so on. */
static uint32_t steps_back(uint32_t nodes, cv_node to, cv_node from)
{
    uint32_t steps = 0;
    for (cv_node node = (to + nodes - 1) % nodes; node != from; node = (node + nodes - 1) % nodes)
        steps++;
    return steps;
}

static bool is_after(const struct sent *one, const struct sent *other)
{
    if (one->to != other->to)
        return one->to > other->to;
    return one->rank != other->rank ? one->rank > other->rank : one->number > other->number;
}

static void expect(struct sent it, uint32_t nodes, bool ring)
{
    uint32_t at = expected_count++;
    it.rank = ring ? steps_back(nodes, it.to, it.from) : it.from;
    for (; at && is_after(&expected[at - 1], &it); at--)
        expected[at] = expected[at - 1];
    expected[at] = it;
}

/* Messages of all lengths, some much longer than a chunk of the calendar has room for; some are struck out. */
static void add(struct calendar *calendar, struct sent it, uint32_t words)
{
    const size_t bytes = sizeof(struct cv_message) + (words + 1) / 2 * 8;
    struct cv_message *message = calendar_add(calendar, 1, bytes + BEHIND);
    assert_non_null(message);
    *message = (struct cv_message){.to = it.to, .from = it.from, .words = words & CV_MAX_WORDS};
    if (words)
        memset(message->body, 0, (words + 1) / 2 * 8);
    memcpy((unsigned char *)message + bytes, &it.number, sizeof it.number);
}

static uint32_t number_of(const struct cv_message *message)
{
    uint32_t number;
    memcpy(&number, (const unsigned char *)message + cv_message_bytes(message), sizeof number);
    return number;
}

static void compare(struct arrivals *arrivals)
{
    assert_int_equal(arrivals->count, expected_count);
    for (size_t at = 0, end; at < arrivals->count; at = end) {
        end = arrivals_group(arrivals, at);
        assert_true(end > at);
        for (size_t i = at; i < end; i++) {
            const struct cv_message *message = arrivals_message(arrivals, i);
            assert_int_equal(message->to, expected[i].to);
            assert_int_equal(message->from, expected[i].from);
            assert_int_equal(number_of(message), expected[i].number);
            assert_int_equal(message->to, arrivals_message(arrivals, at)->to);
        }
        assert_true(end == arrivals->count ||
                    arrivals_message(arrivals, end)->to != arrivals_message(arrivals, at)->to);
    }
}

/* `in_turn`: the senders sent one after the other, so that the order of senders needs no sorting. */
static void play(struct cv_random *random, uint32_t nodes, bool ring, uint32_t count, uint64_t longest, bool in_turn)
{
    struct calendar calendar;
    struct arrivals arrivals;
    assert_int_equal(calendar_init(&calendar, longest), 0);
    arrivals_init(&arrivals, nodes, ring, BEHIND);
    for (int tick = 0; tick < 3; tick++) { /* what it keeps from tick to tick does no harm */
        expected_count = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t drawn = (uint32_t)cv_random_below(random, nodes),
                           words = (uint32_t)cv_random_below(random, 6);
            const cv_node from = in_turn ? (cv_node)((uint64_t)i * nodes / count) : drawn;
            const struct sent it = {(cv_node)cv_random_below(random, nodes), from, i, 0};
            const bool struck = cv_random_below(random, 20) == 0;
            add(&calendar, struck ? (struct sent){CV_NOBODY, it.from, i, 0} : it, i % 500 == 7 ? 70000 : words);
            if (!struck)
                expect(it, nodes, ring);
        }
        calendar.now = 1;
        assert_int_equal(arrivals_make_tick(&arrivals, &calendar), 0);
        compare(&arrivals);
        calendar_drop(&calendar);
        assert_int_equal(calendar.pending, 0);
        calendar.now = 0;
    }
    arrivals_free(&arrivals);
    calendar_free(&calendar);
}

static void messages_come_by_receiver_and_sender(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 1, 0);
    static const uint32_t groups[] = {1, 2, 3, 10, 300, 5000, 70000};
    static const uint32_t counts[] = {0, 1, 2, 48, 49, 100, 700};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            for (int way = 0; way < 8; way++)
                play(&random, groups[i], way & 1 && groups[i] < 400, counts[j], way & 2 ? 1 : 1000, way & 4);
}

static void sorting_keeps_equal_ones_in_place(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 2, 0);
    static uint64_t numbers[MOST], exchanged[MOST];
    for (uint32_t width = 1; width <= 32; width += 5)
        for (uint32_t count = 0; count <= MOST; count = count * 3 + 7) {
            for (uint32_t i = 0; i < count; i++)
                numbers[i] = cv_random_below(&random, UINT64_C(1) << width) << 32 | i;
            arrivals_sort(numbers, exchanged, count, width);
            for (uint32_t i = 1; i < count; i++)
                assert_true(numbers[i - 1] < numbers[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_by_receiver_and_sender),
        cmocka_unit_test(sorting_keeps_equal_ones_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
