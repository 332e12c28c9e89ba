// SPDX-License-Identifier: MIT
/* Lanes: every block arrives once, whole, in the order in which they were sent, whichever way each of them went. */
#include "core/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "core/random.h"

#define BLOCKS 60000u
#define LONGEST (LANE_MOST + 200) /* some are too long for a place */

/* The other way, for blocks that found no place: first in, first out. */
struct other_way {
    pthread_mutex_t lock;
    uint32_t numbers[BLOCKS], before[BLOCKS]; /* blocks that went through the lane before it */
    uint32_t put, taken;
};

struct journey {
    struct lane *lane;
    struct lane_end out, in;
    struct other_way other_way;
    uint64_t seed;
    uint32_t lane_blocks, other_blocks; /* that were received */
    _Atomic uint32_t received;
    uint32_t lead; /* so many blocks may be under way */
};

static size_t size_of(uint64_t seed, uint32_t number)
{
    struct cv_random random;
    cv_random_seed(&random, seed, number);
    const bool is_short = cv_random_below(&random, 20);
    return 4 + cv_random_below(&random, is_short ? 120 : LONGEST - 3);
}

static void send(struct journey *journey, uint32_t number)
{
    const size_t size = size_of(journey->seed, number);
    struct lane_place *place = lane_find_free(&journey->out, size);
    if (place) {
        memset(place->bytes, (int)(number & 255), size);
        memcpy(place->bytes, &number, sizeof number);
        place->tag = number ^ 1;
        lane_put(&journey->out, place, size);
        return;
    }
    struct other_way *way = &journey->other_way;
    pthread_mutex_lock(&way->lock);
    way->before[way->put] = journey->out.count;
    way->numbers[way->put++] = number;
    pthread_mutex_unlock(&way->lock);
    journey->out.other_ways++;
}

static void *send_all(void *context)
{
    struct journey *journey = context;
    for (uint32_t number = 0; number < BLOCKS; number++) {
        while (number - atomic_load(&journey->received) >= journey->lead)
            sched_yield();
        send(journey, number);
    }
    return NULL;
}

/* The block in the lane is the one that is expected, all of it. */
static void check_block(const struct journey *journey, const struct lane_place *place, uint32_t number)
{
    const size_t size = size_of(journey->seed, number);
    assert_int_equal(place->size, size);
    assert_int_equal(place->tag, number ^ 1);
    assert_memory_equal(place->bytes, &number, sizeof number);
    for (size_t i = sizeof number; i < size; i++)
        assert_int_equal(place->bytes[i], number & 255);
}

/* The next block, if there is one; whichever way it comes, it must be that number. */
static bool receive(struct journey *journey, uint32_t number)
{
    const struct lane_place *place = lane_look(&journey->in);
    if (place) {
        check_block(journey, place, number);
        lane_take(&journey->in);
        journey->lane_blocks++;
        return true;
    }
    struct other_way *way = &journey->other_way;
    pthread_mutex_lock(&way->lock);
    const bool due = way->taken < way->put && way->before[way->taken] == journey->in.count;
    if (due)
        assert_int_equal(way->numbers[way->taken++], number);
    pthread_mutex_unlock(&way->lock);
    journey->in.other_ways += due;
    journey->other_blocks += due;
    return due;
}

static void receive_all(struct journey *journey)
{
    for (uint32_t number = 0; number < BLOCKS;) {
        if (receive(journey, number))
            atomic_store(&journey->received, ++number);
        else
            sched_yield();
    }
}

/* A lane that has been in use since long: numbers start again at 2^32. */
static void begin(struct journey *journey, uint64_t seed)
{
    const uint32_t before = UINT32_MAX - 1000;
    memset(journey, 0, sizeof *journey);
    journey->seed = seed;
    journey->lane = aligned_alloc(LANE_LINE, sizeof *journey->lane);
    assert_non_null(journey->lane);
    memset(journey->lane, 0, sizeof *journey->lane);
    atomic_store(&journey->lane->taken, before);
    journey->out = journey->in = (struct lane_end){.lane = journey->lane, .count = before, .other_ways = before + 900};
    pthread_mutex_init(&journey->other_way.lock, NULL);
}

static void end(struct journey *journey)
{
    assert_null(lane_look(&journey->in));
    assert_int_equal(journey->in.count, journey->out.count);
    assert_int_equal(journey->in.other_ways, journey->out.other_ways);
    assert_int_equal(journey->lane_blocks + journey->other_blocks, BLOCKS);
    assert_true(journey->lane_blocks > BLOCKS / 100);
    assert_true(journey->other_blocks > BLOCKS / 100);
    pthread_mutex_destroy(&journey->other_way.lock);
    free(journey->lane);
}

static void test_between_two_threads(void **state)
{
    static struct journey journey;
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        pthread_t sender;
        begin(&journey, seed);
        journey.lead = 10 * (uint32_t)seed;
        assert_int_equal(pthread_create(&sender, NULL, send_all, &journey), 0);
        receive_all(&journey);
        pthread_join(sender, NULL);
        end(&journey);
    }
}

/* Sender and receiver in one thread, by turns of random length: the same every time. */
static void test_by_turns(void **state)
{
    static struct journey journey;
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct cv_random random;
        cv_random_seed(&random, seed, BLOCKS);
        begin(&journey, seed);
        uint32_t sent = 0, received = 0;
        while (received < BLOCKS) {
            for (uint64_t turn = cv_random_below(&random, 12); turn && sent < BLOCKS; turn--)
                send(&journey, sent++);
            for (uint64_t turn = cv_random_below(&random, 12); turn && received < sent; turn--)
                assert_true(receive(&journey, received++));
            if (received == sent)
                assert_false(receive(&journey, received));
        }
        end(&journey);
    }
}

static void test_full_lane(void **state)
{
    static struct lane lane;
    struct lane_end out = {.lane = &lane}, in = {.lane = &lane};
    (void)state;
    assert_null(lane_look(&in));
    assert_null(lane_find_free(&out, LANE_MOST + 1));
    for (uint32_t i = 0; i < LANE_PLACES; i++) {
        struct lane_place *place = lane_find_free(&out, LANE_MOST);
        assert_non_null(place);
        lane_put(&out, place, LANE_MOST);
    }
    assert_null(lane_find_free(&out, 1));
    assert_ptr_equal(lane_look(&in), &lane.places[0]);
    lane_take(&in);
    assert_ptr_equal(lane_find_free(&out, 1), &lane.places[0]);

    const struct lane_end none = {0};
    assert_null(lane_find_free(&none, 1));
    assert_null(lane_look(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_lane),
        cmocka_unit_test(test_by_turns),
        cmocka_unit_test(test_between_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
