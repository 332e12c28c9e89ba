// SPDX-License-Identifier: MIT
/*
 * Two links over connections that break at any byte, and ends that forget and begin anew: within a stream every frame
 * arrives once and in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/link/link.h"
#include "core/random.h"

#define PIPE_BYTES 65536

/* One end, with the bytes on their way to it. */
struct end {
    struct cv_link link;
    unsigned char pipe[PIPE_BYTES];
    size_t on_its_way;
    uint64_t said;  /* the number of the last frame sent on this stream */
    uint64_t heard; /* the number of the last frame received on the other's stream */
    uint64_t streams;
};

static struct end ends[2];

static void begin(struct end *end, uint64_t which)
{
    cv_link_begin(&end->link, which << 32 | ++end->streams);
    end->said = 0;
}

static void say(struct end *end)
{
    const uint64_t body = ++end->said;
    struct cv_frame frame = {.type = CV_FRAME_NOTICE, .words = 2, .body = &body};
    assert_int_equal(cv_link_write(&end->link, &frame), 0);
    assert_int_equal(frame.sequence, end->said);
}

/* Carries bytes across: at most that many of them arrive before the connection breaks. */
static void carry(struct end *from, struct end *to, size_t most)
{
    const struct cv_text bytes = cv_link_unsent(&from->link, PIPE_BYTES - to->on_its_way);
    if (bytes.length > PIPE_BYTES - to->on_its_way)
        return;
    if (bytes.length)
        memcpy(to->pipe + to->on_its_way, bytes.start, bytes.length < most ? bytes.length : most);
    to->on_its_way += bytes.length < most ? bytes.length : most;
    cv_link_sent(&from->link, bytes.length);
}

static void hear(struct end *end)
{
    size_t at = 0;
    for (;;) {
        struct cv_frame frame;
        const char *wrong;
        bool gap;
        const long size = cv_frame_read(end->pipe + at, end->on_its_way - at, &frame, &wrong);
        assert_true(size != CV_FRAME_BROKEN);
        if (size == CV_FRAME_MORE)
            break;
        at += (size_t)size;
        const bool next = cv_link_take(&end->link, frame.sequence, &gap);
        assert_false(gap);
        if (next) {
            assert_int_equal(cv_frame_number(&frame, 0), end->heard + 1);
            end->heard++;
        }
    }
    memmove(end->pipe, end->pipe + at, end->on_its_way - at);
    end->on_its_way -= at;
}

/* As live/net/connection.c does it: one end greets, the other answers; an end that is unknown begins a new stream. */
static void connect_ends(void)
{
    for (;;) {
        struct cv_frame hello[2];
        ends[0].on_its_way = ends[1].on_its_way = 0;
        hello[0] = (struct cv_frame){
            .stream = ends[0].link.stream, .heard = ends[0].link.heard, .expects = ends[0].link.expects};
        if (cv_link_forgotten(&ends[1].link, &hello[0]))
            begin(&ends[1], 2);
        hello[1] = (struct cv_frame){
            .stream = ends[1].link.stream, .heard = ends[1].link.heard, .expects = ends[1].link.expects};
        if (cv_link_greeted(&ends[1].link, &hello[0]))
            ends[1].heard = 0;
        if (cv_link_forgotten(&ends[0].link, &hello[1])) {
            begin(&ends[0], 1);
            continue;
        }
        if (cv_link_greeted(&ends[0].link, &hello[1]))
            ends[0].heard = 0;
        return;
    }
}

static void restart(struct end *end, uint64_t which)
{
    cv_link_free(&end->link);
    end->heard = 0;
    begin(end, which);
}

/* Frames that are sent before the first connection arrive with it. */
static void before_the_first_meeting(void **state)
{
    (void)state;
    memset(ends, 0, sizeof ends);
    begin(&ends[0], 1);
    begin(&ends[1], 2);
    for (int i = 0; i < 3; i++) {
        say(&ends[0]);
        say(&ends[1]);
    }
    connect_ends();
    for (int which = 0; which < 2; which++) {
        carry(&ends[which], &ends[1 - which], SIZE_MAX);
        hear(&ends[1 - which]);
        assert_int_equal(ends[1 - which].heard, 3);
    }
    cv_link_free(&ends[0].link);
    cv_link_free(&ends[1].link);
}

static void once_and_in_order(void **state)
{
    struct cv_random random;
    uint64_t total = 0;
    (void)state;
    cv_random_seed(&random, 7, 1);
    memset(ends, 0, sizeof ends);
    begin(&ends[0], 1);
    begin(&ends[1], 2);
    connect_ends();
    for (int step = 0; step < 200000; step++) {
        const uint64_t which = cv_random_below(&random, 2);
        struct end *end = &ends[which], *other = &ends[1 - which];
        const uint64_t before = end->heard;
        switch (cv_random_below(&random, 40)) {
        case 0: /* the connection breaks in the middle */
            carry(other, end, cv_random_below(&random, 200));
            hear(end);
            connect_ends();
            break;
        case 1:
            if (cv_random_below(&random, 20) == 0) {
                restart(end, which + 1);
                connect_ends();
            }
            break;
        case 2:
        case 3:
        case 4: /* a heartbeat */
            cv_link_acknowledged(&other->link, end->link.expects);
            break;
        default:
            if (cv_random_below(&random, 2))
                say(end);
            carry(other, end, SIZE_MAX);
            hear(end);
        }
        total += end->heard > before ? end->heard - before : 0;
    }
    /* In the end all frames have arrived. */
    for (int i = 0; i < 2; i++) {
        carry(&ends[i], &ends[1 - i], SIZE_MAX);
        hear(&ends[1 - i]);
        assert_int_equal(ends[1 - i].heard, ends[i].said);
        cv_link_acknowledged(&ends[i].link, ends[1 - i].link.expects);
        assert_int_equal(ends[i].link.start, ends[i].link.end);
    }
    assert_true(total > 10000);
    cv_link_free(&ends[0].link);
    cv_link_free(&ends[1].link);
}

static void a_gap_is_seen(void **state)
{
    struct cv_link link = {.expects = 4};
    bool gap;
    (void)state;
    assert_false(cv_link_take(&link, 3, &gap));
    assert_false(gap);
    assert_false(cv_link_take(&link, 5, &gap));
    assert_true(gap);
    assert_true(cv_link_take(&link, 4, &gap));
    assert_false(gap);
}

/* A greeting that is older than a later acknowledgement is refused; any other is accepted. */
static void an_old_greeting_is_known(void **state)
{
    struct cv_link link = {0};
    struct cv_frame frame = {.type = CV_FRAME_NOTICE};
    struct cv_frame hello = {.type = CV_FRAME_HELLO, .heard = 7, .expects = 1};
    (void)state;
    cv_link_begin(&link, 7);
    assert_int_equal(cv_link_write(&link, &frame), 0);
    assert_false(cv_link_outdated(&link, &hello));
    cv_link_sent(&link, link.end);
    cv_link_acknowledged(&link, 2);
    assert_true(cv_link_outdated(&link, &hello));
    hello.expects = 2;
    assert_false(cv_link_outdated(&link, &hello));
    hello.heard = 6; /* another stream: it has forgotten this one */
    hello.expects = 1;
    assert_false(cv_link_outdated(&link, &hello));
    cv_link_free(&link);
}

/* The log for a peer that never acknowledges has a limit. */
static void the_log_is_bounded(void **state)
{
    static const uint32_t body[10000];
    struct cv_link link = {0};
    int error = 0;
    size_t frames = 0;
    (void)state;
    cv_link_begin(&link, 1);
    for (; !error; frames++) {
        struct cv_frame frame = {.type = CV_FRAME_NOTICE, .words = 10000, .body = body};
        error = cv_link_write(&link, &frame);
    }
    assert_int_equal(error, CV_ENOMEM);
    assert_true(frames * 40000 > CV_LINK_BYTES / 2 && frames * 40000 < 2 * CV_LINK_BYTES);
    cv_link_free(&link);
}

/* Two frames that fill the log to its last byte. Behind the second one there is none to look at. */
static void a_frame_may_be_longer_than_what_is_wanted(void **state)
{
    static const uint32_t body[2037];
    struct cv_link link = {0};
    (void)state;
    cv_link_begin(&link, 1);
    for (int i = 0; i < 2; i++) {
        struct cv_frame frame = {.type = CV_FRAME_NOTICE, .words = sizeof body / sizeof *body, .body = body};
        assert_int_equal(cv_link_write(&link, &frame), 0);
    }
    assert_int_equal(link.end, link.room);
    const size_t size = link.end / 2;
    assert_int_equal(cv_link_unsent(&link, 100).length, size);
    cv_link_sent(&link, size);
    assert_int_equal(cv_link_unsent(&link, 100).length, size);
    assert_int_equal(cv_link_unsent(&link, size).length, size);
    cv_link_free(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_may_be_longer_than_what_is_wanted),
        cmocka_unit_test(before_the_first_meeting),
        cmocka_unit_test(once_and_in_order),
        cmocka_unit_test(a_gap_is_seen),
        cmocka_unit_test(an_old_greeting_is_known),
        cmocka_unit_test(the_log_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
