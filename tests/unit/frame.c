// SPDX-License-Identifier: MIT
/* Frames: a frame that is written is read again, whole or not at all, and other bytes are no frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/link/frame.h"
#include "core/random.h"

static void assert_same(const struct cv_frame *one, const struct cv_frame *other)
{
    assert_int_equal(one->type, other->type);
    assert_int_equal(one->group, other->group);
    assert_int_equal(one->from, other->from);
    assert_int_equal(one->to, other->to);
    assert_int_equal(one->stream, other->stream);
    assert_int_equal(one->heard, other->heard);
    assert_int_equal(one->expects, other->expects);
    assert_int_equal(one->hung, other->hung);
    assert_int_equal(one->term, other->term);
    assert_int_equal(one->epoch, other->epoch);
    assert_int_equal(one->sent_at, other->sent_at);
    assert_int_equal(one->lease_ms, other->lease_ms);
    assert_int_equal(one->drift_ppm, other->drift_ppm);
    assert_int_equal(one->mode, other->mode);
    assert_int_equal(one->refusal, other->refusal);
    assert_int_equal(one->founds, other->founds);
    assert_int_equal(one->directory, other->directory);
    assert_int_equal(one->starts, other->starts);
    assert_int_equal(one->members, other->members);
    assert_int_equal(one->stored, other->stored);
    assert_int_equal(one->rules, other->rules);
    assert_int_equal(one->sequence, other->sequence);
    assert_int_equal(one->round, other->round);
    assert_int_equal(one->clock, other->clock);
    assert_int_equal(one->given, other->given);
    assert_int_equal(one->subject, other->subject);
    assert_int_equal(one->kind, other->kind);
    assert_int_equal(one->hops, other->hops);
    assert_int_equal(one->fingerprint, other->fingerprint);
    assert_int_equal(one->words, other->words);
    assert_int_equal(one->name.length, other->name.length);
    assert_memory_equal(one->name.start ? one->name.start : "", other->name.start ? other->name.start : "",
                        one->name.length);
    if (one->words)
        assert_memory_equal(one->body, other->body, one->words * 4);
}

static struct cv_frame random_frame(struct cv_random *random, const char *name, const uint32_t *body)
{
    struct cv_frame frame = {.type = 1 + (uint32_t)cv_random_below(random, CV_FRAME_TYPES - 1)};
    if (frame.type == CV_FRAME_HELLO) {
        frame.group = cv_random_next(random);
        frame.from = (uint32_t)cv_random_next(random);
        frame.to = (uint32_t)cv_random_next(random);
        frame.stream = cv_random_next(random) | 1;
        frame.heard = cv_random_next(random);
        frame.expects = cv_random_next(random);
        frame.hung = cv_random_next(random);
        frame.mode = (uint32_t)cv_random_below(random, 256);
        frame.refusal = (uint32_t)cv_random_below(random, 256);
        frame.founds = cv_random_below(random, 2);
        frame.directory = (uint32_t)cv_random_next(random);
        frame.starts = (uint32_t)cv_random_next(random);
        frame.members = cv_random_next(random);
        frame.stored = cv_random_next(random);
        frame.rules = cv_random_below(random, 2) ? cv_random_next(random) : 0;
    } else if (frame.type == CV_FRAME_BEAT) {
        frame.expects = cv_random_next(random);
        frame.term = cv_random_next(random);
        frame.epoch = cv_random_next(random);
        frame.sent_at = cv_random_next(random);
        frame.lease_ms = (uint32_t)cv_random_next(random);
        frame.drift_ppm = (uint32_t)cv_random_next(random);
    } else if (frame.type == CV_FRAME_GRANT) {
        frame.epoch = cv_random_next(random);
        frame.sent_at = cv_random_next(random);
        frame.lease_ms = (uint32_t)cv_random_next(random);
    } else {
        frame.sequence = cv_random_next(random);
        frame.round = cv_random_next(random);
        frame.clock = cv_random_next(random) >> 24;
        frame.given = (uint32_t)(cv_random_next(random) >> 40);
        frame.subject = (uint32_t)cv_random_below(random, 256);
        frame.kind = (uint32_t)cv_random_below(random, 256);
        frame.hops = (uint32_t)cv_random_below(random, 65536);
        frame.fingerprint = (uint32_t)cv_random_next(random);
        frame.name = (struct cv_text){name, cv_random_below(random, CV_FRAME_NAME_BYTES + 1)};
        frame.words = (uint32_t)cv_random_below(random, 64);
        frame.body = body;
    }
    return frame;
}

static void come_back_whole(void **state)
{
    static unsigned char bytes[CV_FRAME_BYTES + 100];
    char name[CV_FRAME_NAME_BYTES];
    uint32_t body[64];
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 1, 1);
    memset(name, 'n', sizeof name);
    for (int i = 0; i < 64; i++)
        body[i] = (uint32_t)cv_random_next(&random);
    for (int i = 0; i < 2000; i++) {
        const struct cv_frame frame = random_frame(&random, name, body);
        const size_t size = cv_frame_size(&frame);
        struct cv_frame read;
        const char *wrong;
        cv_frame_write(bytes, &frame);
        memset(bytes + size, 0xee, 100);
        for (size_t part = 0; part < size; part += 1 + size / 20)
            assert_int_equal(cv_frame_read(bytes, part, &read, &wrong), CV_FRAME_MORE);
        assert_int_equal(cv_frame_read(bytes, size + cv_random_below(&random, 100), &read, &wrong), (long)size);
        assert_same(&frame, &read);
    }
}

static void bytes_changed_do_no_harm(void **state)
{
    static unsigned char bytes[CV_FRAME_BYTES];
    char name[CV_FRAME_NAME_BYTES] = "name";
    uint32_t body[64] = {0};
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 2, 1);
    for (int i = 0; i < 20000; i++) {
        const struct cv_frame frame = random_frame(&random, name, body);
        const size_t size = cv_frame_size(&frame);
        struct cv_frame read;
        const char *wrong = NULL;
        cv_frame_write(bytes, &frame);
        bytes[cv_random_below(&random, size < 48 ? size : 48)] = (unsigned char)cv_random_next(&random);
        const long length = cv_frame_read(bytes, size, &read, &wrong);
        if (length == CV_FRAME_BROKEN)
            assert_non_null(wrong);
        else
            assert_true(length == CV_FRAME_MORE || (length > 0 && (size_t)length <= size));
        if (length > 0 && cv_frame_numbered(read.type) && read.name.length + read.words)
            assert_true((const unsigned char *)read.body + read.words * 4 <= bytes + size);
    }
}

/* The bytes that say whether the sender founds a group, and one that is always 0. */
static void greetings_are_written_in_one_way(void **state)
{
    const struct cv_frame hello = {.type = CV_FRAME_HELLO, .from = 1, .to = 2, .stream = 3, .founds = true};
    const size_t size = cv_frame_size(&hello), founds = 63, zero = 64;
    unsigned char bytes[CV_FRAME_BYTES];
    struct cv_frame read;
    const char *wrong = NULL;
    (void)state;
    cv_frame_write(bytes, &hello);
    assert_int_equal(cv_frame_read(bytes, size, &read, &wrong), size);
    assert_true(read.founds);
    bytes[founds] = 2;
    assert_int_equal(cv_frame_read(bytes, size, &read, &wrong), CV_FRAME_BROKEN);
    bytes[founds] = 0;
    assert_int_equal(cv_frame_read(bytes, size, &read, &wrong), size);
    assert_false(read.founds);
    bytes[zero] = 1;
    assert_int_equal(cv_frame_read(bytes, size, &read, &wrong), CV_FRAME_BROKEN);
}

static void lengths_are_bounded(void **state)
{
    const unsigned char longest[] = {0xfc, 0xff, 0, 0, CV_FRAME_MESSAGE},
                        longer[] = {0xfd, 0xff, 0, 0, CV_FRAME_MESSAGE};
    const unsigned char unknown[] = {9, 0, 0, 0, CV_FRAME_TYPES}, nothing[] = {9, 0, 0, 0, 0};
    struct cv_frame frame;
    const char *wrong;
    (void)state;
    assert_int_equal(cv_frame_read(longest, sizeof longest, &frame, &wrong), CV_FRAME_MORE);
    assert_int_equal(cv_frame_read(longer, sizeof longer, &frame, &wrong), CV_FRAME_BROKEN);
    assert_int_equal(cv_frame_read(unknown, sizeof unknown, &frame, &wrong), CV_FRAME_BROKEN);
    assert_int_equal(cv_frame_read(nothing, sizeof nothing, &frame, &wrong), CV_FRAME_BROKEN);
}

static void numbers_of_a_body(void **state)
{
    const uint64_t body[] = {7, UINT64_MAX};
    const struct cv_frame frame = {.type = CV_FRAME_VIEW, .words = 4, .body = body};
    (void)state;
    assert_int_equal(cv_frame_number(&frame, 0), 7);
    assert_true(cv_frame_number(&frame, 1) == UINT64_MAX);
    assert_int_equal(cv_frame_number(&frame, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(come_back_whole),
        cmocka_unit_test(bytes_changed_do_no_harm),
        cmocka_unit_test(greetings_are_written_in_one_way),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(numbers_of_a_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
