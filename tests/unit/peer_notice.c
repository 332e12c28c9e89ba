// SPDX-License-Identifier: MIT
/* Notices between services: every kind arrives as it was sent, and a notice that no service sends is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/peer_notice.h"
#include "service/sharing.h"

static const enum cv_subject subject_of[PEER_NOTICE_KINDS] = {
    [PEER_NOTICE_LEADS] = CV_SUBJECT_LEADER,    [PEER_NOTICE_LED] = CV_SUBJECT_LEADER,
    [PEER_NOTICE_KNOWS] = CV_SUBJECT_LEADER,    [PEER_NOTICE_UNLOCK] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_RENEW] = CV_SUBJECT_LOCK,      [PEER_NOTICE_ANSWER] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_STANDS] = CV_SUBJECT_ELECTION, [PEER_NOTICE_TRY] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_BUSY] = CV_SUBJECT_LOCK,       [PEER_NOTICE_SHARING] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_PROMISE] = CV_SUBJECT_LOCK,    [PEER_NOTICE_PROMISED] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_OVER] = CV_SUBJECT_LOCK,       [PEER_NOTICE_LIST] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_WAITERS] = CV_SUBJECT_LOCK,    [PEER_NOTICE_ASK_BACK] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_PAGE] = CV_SUBJECT_LOCK,       [PEER_NOTICE_FORCE] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_FORCED] = CV_SUBJECT_LOCK,     [PEER_NOTICE_LOOK] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_WATCH] = CV_SUBJECT_LOCK,      [PEER_NOTICE_ASK] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_DONE] = CV_SUBJECT_LOCK,       [PEER_NOTICE_STATE] = CV_SUBJECT_LOCK,
    [PEER_NOTICE_COPY] = CV_SUBJECT_LOCK,
};

/* All numbers differ, so that a mix-up shows. */
static struct peer_notice sample(enum peer_notice_kind kind)
{
    return (struct peer_notice){.kind = kind,
                                .subject = subject_of[kind],
                                .name = cv_text("name"),
                                .fence = 3,
                                .session = 4,
                                .origin = 5,
                                .ticket = 6,
                                .hold_kinds = 2,
                                .result = (uint64_t)-1,
                                .attribute = 7,
                                .shared = 1,
                                .sharing_kind = 5,
                                .generation = 8,
                                .first = 9,
                                .entry = 10,
                                .ttl_ms = 11,
                                .digest = {12, 13},
                                .cursor = 14,
                                .permits = 15,
                                .asked_back = 1,
                                .recipe = 16,
                                .amount = 17,
                                .client = cv_text("alice@web:12:make"),
                                .value = {"any\0bytes", 9},
                                .page = cv_text(""),
                                .admin = cv_text("operator"),
                                .reason = cv_text("it hangs\n")};
}

static bool same(const struct peer_notice *sent, const struct peer_notice *heard)
{
    const uint64_t *one = &sent->fence, *other = &heard->fence;
    for (size_t i = 0; i < PEER_NOTICE_NUMBERS; i++)
        if (other[i] && one[i] != other[i])
            return false;
    const struct cv_text *says = &sent->client, *hears = &heard->client;
    for (size_t i = 0; i < PEER_NOTICE_TEXTS; i++)
        if (hears[i].start &&
            (says[i].length != hears[i].length || memcmp(says[i].start, hears[i].start, says[i].length) != 0))
            return false;
    return sent->kind == heard->kind && sent->subject == heard->subject && sent->name.length == heard->name.length;
}

static void test_every_kind_comes_through(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < PEER_NOTICE_KINDS; kind++) {
        const struct peer_notice sent = sample(kind);
        assert_true(peer_notice_is_valid(&sent));
        struct peer_notice heard;
        struct peer_notice_body body;
        const struct cv_notice carried = peer_notice_write(&sent, &body);
        assert_null(peer_notice_read(&carried, &heard));
        assert_true(same(&sent, &heard));
        assert_true(carried.words >= 2);
    }
}

static void test_promise_carries_what_a_keeper_needs(void **state)
{
    (void)state;
    const struct peer_notice sent = sample(PEER_NOTICE_PROMISE);
    struct peer_notice heard;
    struct peer_notice_body body;
    const struct cv_notice carried = peer_notice_write(&sent, &body);
    assert_null(peer_notice_read(&carried, &heard));
    assert_int_equal(heard.fence, 3);
    assert_int_equal(heard.session, 4);
    assert_int_equal(heard.generation, 8);
    assert_int_equal(heard.entry, 10);
    assert_int_equal(heard.ttl_ms, 11);
    assert_int_equal(heard.digest[0], 12);
    assert_int_equal(heard.digest[1], 13);
    assert_int_equal(heard.permits, 15);
    assert_int_equal(heard.ticket, 0);
    assert_int_equal(heard.client.length, strlen("alice@web:12:make"));
    assert_int_equal(heard.value.length, 9);
    assert_memory_equal(heard.value.start, "any\0bytes", 9);
    assert_null(heard.page.start);
}

/* A text that is not there is not the same as an empty one. */
static void test_absent_texts(void **state)
{
    (void)state;
    struct peer_notice sent = sample(PEER_NOTICE_PROMISE), heard;
    struct peer_notice_body body;
    sent.client = (struct cv_text){NULL, 0};
    sent.value = cv_text("");
    const struct cv_notice carried = peer_notice_write(&sent, &body);
    assert_null(peer_notice_read(&carried, &heard));
    assert_null(heard.client.start);
    assert_non_null(heard.value.start);
    assert_int_equal(heard.value.length, 0);
}

/* Texts of every length up to the longest arrive. One byte more is forged, as is every change of a length. */
static void test_lengths_of_texts(void **state)
{
    static char bytes[CV_VALUE_BYTES + 1];
    (void)state;
    memset(bytes, 'v', sizeof bytes);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        struct peer_notice sent = sample(PEER_NOTICE_LEADS), heard;
        struct peer_notice_body body = {0};
        sent.value = (struct cv_text){bytes, length};
        struct cv_notice carried = peer_notice_write(&sent, &body);
        const char *wrong = peer_notice_read(&carried, &heard);
        if (length > CV_VALUE_BYTES) {
            assert_non_null(wrong);
            continue;
        }
        assert_null(wrong);
        assert_int_equal(heard.value.length, length);
        carried.words--;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.words += 2;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.words -= 1;
        uint32_t claimed = (uint32_t)length + 4;
        memcpy((char *)body.words + 24, &claimed, sizeof claimed);
        assert_non_null(peer_notice_read(&carried, &heard));
        claimed = UINT32_MAX - 1;
        memcpy((char *)body.words + 24, &claimed, sizeof claimed);
        assert_non_null(peer_notice_read(&carried, &heard));
    }
}

static void test_forged_client_names(void **state)
{
    static const char *const forged[] = {"two words", "line\nbreak", "\x1b[2J", "\xff", "\x7f"};
    (void)state;
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        struct peer_notice sent = sample(PEER_NOTICE_PROMISE), heard;
        struct peer_notice_body body;
        sent.client = cv_text(forged[i]);
        const struct cv_notice carried = peer_notice_write(&sent, &body);
        assert_non_null(peer_notice_read(&carried, &heard));
    }
}

static void test_forged_kinds_lengths_and_names(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < PEER_NOTICE_KINDS; kind++) {
        const struct peer_notice sent = sample(kind);
        struct peer_notice heard;
        struct peer_notice_body body = {0};
        struct cv_notice carried = peer_notice_write(&sent, &body);
        carried.words--;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.words += 2;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.words = UINT32_MAX;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried = peer_notice_write(&sent, &body);
        carried.subject = CV_SUBJECT_GROUP;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.subject = sent.subject == CV_SUBJECT_ELECTION ? CV_SUBJECT_LOCK : CV_SUBJECT_ELECTION;
        assert_non_null(peer_notice_read(&carried, &heard));
        carried.subject = sent.subject;
        carried.kind = PEER_NOTICE_KINDS + kind;
        assert_non_null(peer_notice_read(&carried, &heard));
    }
}

static void refuse(struct peer_notice notice, enum peer_notice_kind kind)
{
    struct peer_notice heard;
    struct peer_notice_body body;
    notice.kind = kind;
    notice.subject = subject_of[kind];
    const struct cv_notice carried = peer_notice_write(&notice, &body);
    assert_non_null(peer_notice_read(&carried, &heard));
    assert_false(peer_notice_is_valid(&notice)); /* so no member sends it */
}

static void test_forged_numbers(void **state)
{
    (void)state;
    refuse((struct peer_notice){.fence = CV_FENCE_END}, PEER_NOTICE_LEADS);
    refuse((struct peer_notice){.fence = 1ull << 63}, PEER_NOTICE_OVER);
    refuse((struct peer_notice){.origin = 1ull << 32}, PEER_NOTICE_LED);
    refuse((struct peer_notice){.hold_kinds = 4}, PEER_NOTICE_UNLOCK);
    refuse((struct peer_notice){.attribute = 1ull << 32}, PEER_NOTICE_STANDS);
    refuse((struct peer_notice){.shared = 2}, PEER_NOTICE_TRY);
    refuse((struct peer_notice){.sharing_kind = SHARING_LAST + 1}, PEER_NOTICE_SHARING);
    refuse((struct peer_notice){.generation = UINT64_MAX}, PEER_NOTICE_SHARING);
    refuse((struct peer_notice){.first = UINT64_MAX}, PEER_NOTICE_SHARING);
    refuse((struct peer_notice){.asked_back = 2}, PEER_NOTICE_ANSWER);
    refuse((struct peer_notice){.cursor = 1ull << 63}, PEER_NOTICE_LIST);
    refuse((struct peer_notice){.cursor = 1ull << 63}, PEER_NOTICE_PAGE);
    refuse((struct peer_notice){.permits = MOST_PERMITS + 1}, PEER_NOTICE_SHARING);
    refuse((struct peer_notice){.ttl_ms = (1ull << 40) + 1}, PEER_NOTICE_PROMISE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_through),
        cmocka_unit_test(test_promise_carries_what_a_keeper_needs),
        cmocka_unit_test(test_absent_texts),
        cmocka_unit_test(test_lengths_of_texts),
        cmocka_unit_test(test_forged_client_names),
        cmocka_unit_test(test_forged_kinds_lengths_and_names),
        cmocka_unit_test(test_forged_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
