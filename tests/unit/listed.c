// SPDX-License-Identifier: MIT
/* Items of LOCKS and WAITERS on their way between members: they arrive as they were sent, and nothing else is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/listed.h"

static struct listed sample(void)
{
    return (struct listed){.election = 1,
                           .holder = 1,
                           .origin = 3,
                           .session = 4,
                           .fence = 5,
                           .since_ms = 6,
                           .waiting = 7,
                           .shared = 8,
                           .priority = (uint64_t)-9,
                           .asked_back = 10,
                           .forced = 1,
                           .name = {"a name \xff", 8},
                           .client = cv_text("alice@web:12:make"),
                           .algorithm = cv_text("central")};
}

static bool same_text(struct cv_text one, struct cv_text other)
{
    return one.length == other.length && (!one.length || memcmp(one.start, other.start, one.length) == 0);
}

static void test_comes_through(void **state)
{
    char bytes[2 * LISTED_MOST_BYTES];
    const struct listed sent = sample(), bare = {.name = cv_text("b")};
    struct listed heard;
    (void)state;
    size_t used = listed_pack(bytes, &sent);
    used += listed_pack(bytes + used, &bare);
    struct cv_text page = {bytes, used};
    assert_true(listed_unpack(&page, &heard));
    assert_memory_equal(&heard, &sent, offsetof(struct listed, name)); /* all numbers */
    assert_true(same_text(heard.name, sent.name));
    assert_true(same_text(heard.client, sent.client));
    assert_true(same_text(heard.algorithm, sent.algorithm));
    assert_true(listed_unpack(&page, &heard));
    assert_null(heard.client.start);
    assert_int_equal(page.length, 0);
}

static void test_cut_off_anywhere(void **state)
{
    char bytes[LISTED_MOST_BYTES];
    const struct listed sent = sample();
    const size_t used = listed_pack(bytes, &sent);
    (void)state;
    for (size_t length = 0; length < used; length++) {
        struct cv_text page = {bytes, length};
        struct listed heard;
        assert_false(listed_unpack(&page, &heard));
    }
}

/* A number that is too high, or a text that is too long for its kind. */
static void test_forged(void **state)
{
    struct listed items[] = {sample(), sample(), sample(), sample(), sample()};
    (void)state;
    items[0].election = 2;
    items[1].origin = (uint64_t)1 << 32;
    items[2].fence = (uint64_t)1 << 63;
    items[3].asked_back = UINT64_MAX;
    items[4].client = cv_text("line\nbreak");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        char bytes[LISTED_MOST_BYTES];
        struct cv_text page = {bytes, listed_pack(bytes, &items[i])};
        struct listed heard;
        assert_false(listed_unpack(&page, &heard));
    }
    char bytes[2 * LISTED_MOST_BYTES] = {0};
    const struct listed sent = sample();
    const uint16_t length = CV_NAME_BYTES + 1;
    listed_pack(bytes, &sent);
    memcpy(bytes + 88, &length, sizeof length);
    struct cv_text page = {bytes, sizeof bytes};
    struct listed heard;
    assert_false(listed_unpack(&page, &heard));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_through),
        cmocka_unit_test(test_cut_off_anywhere),
        cmocka_unit_test(test_forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
