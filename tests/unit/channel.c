// SPDX-License-Identifier: MIT
#include "core/link/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"

/* ---- a bad network, and a plain model of what must come out of it ---- */

#define MAX_MESSAGES 100u
#define MAX_SIZE 300u
#define MAX_BAG 4096u
#define MAX_STEPS 200000u

struct packet {
    uint64_t sequence;
    size_t size;
    bool acknowledgement;
    unsigned char bytes[MAX_SIZE];
};

struct run {
    struct cv_random random;
    struct cv_channel_sender sender;
    struct cv_channel_receiver receiver;
    uint64_t first, now, loss_32, duplicate_32, take_32;
    uint32_t window, total, pushed, taken;
    size_t sizes[MAX_MESSAGES];
    struct packet *bag; /* what is under way, in no order */
    uint32_t in_bag;
};

static unsigned char byte_of(uint32_t message, size_t place)
{
    return (unsigned char)(message * 31 + place * 7 + (place >> 8));
}

static void transmit(struct run *run, const struct packet *packet)
{
    do {
        if (!cv_random_chance(&run->random, run->loss_32) && run->in_bag < MAX_BAG)
            run->bag[run->in_bag++] = *packet;
    } while (cv_random_chance(&run->random, run->duplicate_32));
}

static void push(struct run *run)
{
    if (run->pushed == run->total)
        return;
    unsigned char bytes[MAX_SIZE];
    const uint32_t limits[] = {1, 2, 70, MAX_SIZE + 1};
    const size_t size = cv_random_below(&run->random, limits[cv_random_below(&run->random, 4)]);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_of(run->pushed, i);
    uint64_t sequence;
    assert_int_equal(cv_channel_push(&run->sender, bytes, size, &sequence), 0);
    assert_true(sequence == run->first + run->pushed);
    run->sizes[run->pushed++] = size;
}

static void send_all(struct run *run)
{
    struct cv_channel_packet out;
    const uint64_t deadline = cv_channel_deadline(&run->sender);
    bool any = false;
    while (cv_channel_next(&run->sender, run->now, &out)) {
        struct packet packet = {.sequence = out.sequence, .size = out.size};
        const uint64_t number = out.sequence - run->first;
        assert_true(number < run->pushed && out.size == run->sizes[number]);
        assert_true(number - (run->pushed - cv_channel_pending(&run->sender)) < run->window);
        memcpy(packet.bytes, out.bytes, out.size);
        transmit(run, &packet);
        any = true;
    }
    assert_true(any == (deadline <= run->now));
    assert_true(cv_channel_deadline(&run->sender) > run->now);
}

/* Takes all messages that have arrived, and acknowledges them. */
static void take_all(struct run *run)
{
    size_t size = 0;
    for (const unsigned char *bytes; (bytes = cv_channel_take(&run->receiver, &size)) != NULL; run->taken++) {
        assert_true(run->taken < run->pushed && size == run->sizes[run->taken]);
        for (size_t i = 0; i < size; i++)
            assert_true(bytes[i] == byte_of(run->taken, i));
    }
    transmit(run, &(struct packet){.acknowledgement = true, .sequence = cv_channel_acknowledgement(&run->receiver)});
}

/* Time goes on; if no packet is under way, directly to the next event. */
static void wait(struct run *run)
{
    const uint64_t deadline = cv_channel_deadline(&run->sender);
    if (run->in_bag == 0 && deadline != UINT64_MAX && deadline > run->now)
        run->now = deadline;
    else
        run->now += cv_random_below(&run->random, 20);
}

/* Takes any packet out of the bag, which reorders packets. */
static void deliver(struct run *run)
{
    if (run->in_bag == 0)
        return;
    const uint32_t chosen = (uint32_t)cv_random_below(&run->random, run->in_bag);
    const struct packet packet = run->bag[chosen];
    run->bag[chosen] = run->bag[--run->in_bag];
    if (packet.acknowledgement)
        cv_channel_acknowledged(&run->sender, packet.sequence, run->now);
    else
        assert_int_equal(cv_channel_arrive(&run->receiver, packet.sequence, packet.bytes, packet.size), 0);
    if (!packet.acknowledgement && cv_random_chance(&run->random, run->take_32))
        take_all(run);
}

static void set_up(struct run *run, uint64_t seed, struct packet *bag)
{
    static const uint32_t windows[] = {1, 2, 3, 8, 64};
    *run = (struct run){.bag = bag};
    cv_random_seed(&run->random, seed, 0);
    const uint64_t firsts[] = {0, UINT32_MAX - 20u, UINT64_MAX - 20, cv_random_next(&run->random)};
    run->first = firsts[seed % 4];
    run->window = windows[seed / 4 % 5];
    run->total = (uint32_t)cv_random_below(&run->random, MAX_MESSAGES + 1);
    run->loss_32 = cv_random_below(&run->random, UINT32_MAX / 10 * 6u);
    run->duplicate_32 = cv_random_below(&run->random, UINT32_MAX / 10 * 4u);
    run->take_32 = UINT32_MAX / 4 * (1 + cv_random_below(&run->random, 4));
    cv_channel_sender_init(&run->sender, run->first, run->window, 1 + cv_random_below(&run->random, 50));
    cv_channel_receiver_init(&run->receiver, run->first, run->window);
}

static void everything_arrives_once_and_in_order(void **state)
{
    (void)state;
    static struct packet bag[MAX_BAG];
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct run run;
        set_up(&run, seed, bag);
        void (*const actions[])(struct run *) = {push, send_all, wait, deliver, deliver, take_all};
        for (uint32_t step = 0; run.pushed < run.total || cv_channel_pending(&run.sender) > 0; step++) {
            if (step == MAX_STEPS)
                fail_msg("seed %d does not end", (int)seed);
            actions[cv_random_below(&run.random, sizeof actions / sizeof *actions)](&run);
        }
        /* Late packets change nothing. */
        assert_int_equal(run.taken, run.total);
        for (run.loss_32 = UINT64_C(1) << 32; run.in_bag > 0;)
            deliver(&run);
        take_all(&run);
        assert_int_equal(run.taken, run.total);
        assert_true(cv_channel_deadline(&run.sender) == UINT64_MAX);
        cv_channel_sender_free(&run.sender);
        cv_channel_receiver_free(&run.receiver);
    }
}

/* ---- one sentence of the header each ---- */

static bool next_is(struct cv_channel_sender *sender, uint64_t now, uint64_t sequence)
{
    struct cv_channel_packet packet;
    return cv_channel_next(sender, now, &packet) && packet.sequence == sequence;
}

static bool nothing_to_send(struct cv_channel_sender *sender, uint64_t now)
{
    struct cv_channel_packet packet;
    return !cv_channel_next(sender, now, &packet);
}

static void the_window_limits_what_is_under_way(void **state)
{
    (void)state;
    struct cv_channel_sender sender;
    cv_channel_sender_init(&sender, 10, 2, 100);
    assert_true(nothing_to_send(&sender, 0) && cv_channel_deadline(&sender) == UINT64_MAX);
    for (int i = 0; i < 20; i++)
        assert_int_equal(cv_channel_push(&sender, "x", 1, NULL), 0);
    assert_int_equal(cv_channel_deadline(&sender), 0);
    assert_true(next_is(&sender, 5, 10) && next_is(&sender, 6, 11) && nothing_to_send(&sender, 6));
    assert_int_equal(cv_channel_deadline(&sender), 105);
    cv_channel_acknowledged(&sender, 11, 7);
    assert_true(next_is(&sender, 8, 12) && nothing_to_send(&sender, 8));
    assert_int_equal(cv_channel_deadline(&sender), 107);
    assert_int_equal(cv_channel_pending(&sender), 19);
    cv_channel_sender_free(&sender);
}

static void the_timeout_doubles_until_there_is_progress(void **state)
{
    (void)state;
    struct cv_channel_sender sender;
    cv_channel_sender_init(&sender, 0, 8, 10);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cv_channel_push(&sender, NULL, 0, NULL), 0);
    uint64_t now = 1000, wait = 10;
    for (int round = 0; round < 8; round++) {
        assert_true(next_is(&sender, now, 0) && next_is(&sender, now, 1) && next_is(&sender, now, 2));
        assert_int_equal(cv_channel_deadline(&sender), now + wait);
        assert_true(nothing_to_send(&sender, now + wait - 1));
        now += wait;
        wait = wait < 160 ? 2 * wait : 160;
    }
    assert_true(next_is(&sender, now, 0));
    cv_channel_acknowledged(&sender, 2, now + 7);
    assert_true(next_is(&sender, now + 7, 2));
    assert_int_equal(cv_channel_deadline(&sender), now + 17);
    cv_channel_acknowledged(&sender, 3, now + 8);
    assert_true(cv_channel_deadline(&sender) == UINT64_MAX && nothing_to_send(&sender, now + 1000));
    cv_channel_sender_free(&sender);
}

static void senseless_acknowledgements_change_nothing(void **state)
{
    (void)state;
    struct cv_channel_sender sender;
    cv_channel_sender_init(&sender, 100, 2, 10);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cv_channel_push(&sender, "x", 1, NULL), 0);
    assert_true(next_is(&sender, 0, 100) && next_is(&sender, 0, 101));
    const uint64_t senseless[] = {100, 99, 0, 103, 104, UINT64_MAX};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++)
        cv_channel_acknowledged(&sender, senseless[i], 5);
    assert_int_equal(cv_channel_pending(&sender), 3);
    assert_int_equal(cv_channel_deadline(&sender), 10);
    cv_channel_sender_free(&sender);
}

static void packets_outside_the_window_are_dropped(void **state)
{
    (void)state;
    struct cv_channel_receiver receiver;
    size_t size = 0;
    cv_channel_receiver_init(&receiver, 5, 4);
    assert_null(cv_channel_take(&receiver, &size));
    const uint64_t outside[] = {4, 0, UINT64_MAX, 9, 1000};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_int_equal(cv_channel_arrive(&receiver, outside[i], "bad", 3), 0);
    assert_null(cv_channel_take(&receiver, &size));
    for (uint64_t sequence = 8; sequence >= 5; sequence--) {
        assert_null(cv_channel_take(&receiver, &size));
        assert_int_equal(cv_channel_arrive(&receiver, sequence, "good", 4), 0);
        assert_int_equal(cv_channel_arrive(&receiver, sequence, "twice", 5), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_memory_equal(cv_channel_take(&receiver, &size), "good", 4);
    assert_int_equal(cv_channel_acknowledgement(&receiver), 9);
    assert_null(cv_channel_take(&receiver, &size));
    cv_channel_receiver_free(&receiver);
}

/* A thousand rounds of three messages need no more slots and buffers than the first rounds. */
static void memory_is_used_again(void **state)
{
    (void)state;
    struct cv_channel_sender sender;
    struct cv_channel_receiver receiver;
    cv_channel_sender_init(&sender, 0, 64, 10);
    cv_channel_receiver_init(&receiver, 0, 64);
    const unsigned char *buffers[4] = {NULL};
    for (uint64_t round = 0; round < 1000; round++) {
        unsigned char bytes[200] = {0};
        struct cv_channel_packet packet;
        size_t size = 0;
        for (int i = 0; i < 3; i++)
            assert_int_equal(cv_channel_push(&sender, bytes, sizeof bytes, NULL), 0);
        while (cv_channel_next(&sender, round, &packet))
            assert_int_equal(cv_channel_arrive(&receiver, packet.sequence, packet.bytes, packet.size), 0);
        while (cv_channel_take(&receiver, &size))
            assert_int_equal(size, sizeof bytes);
        cv_channel_acknowledged(&sender, cv_channel_acknowledgement(&receiver), round);
        assert_int_equal(sender.ring.capacity, 4);
        assert_int_equal(receiver.ring.capacity, 4);
        for (int i = 0; i < 4 && round >= 4; i++) {
            assert_true(!buffers[i] || buffers[i] == receiver.ring.slots[i].bytes);
            buffers[i] = receiver.ring.slots[i].bytes;
        }
    }
    cv_channel_sender_free(&sender);
    cv_channel_receiver_free(&receiver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives_once_and_in_order),
        cmocka_unit_test(the_window_limits_what_is_under_way),
        cmocka_unit_test(the_timeout_doubles_until_there_is_progress),
        cmocka_unit_test(senseless_acknowledgements_change_nothing),
        cmocka_unit_test(packets_outside_the_window_are_dropped),
        cmocka_unit_test(memory_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
