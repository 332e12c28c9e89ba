// SPDX-License-Identifier: MIT
/* Messages of a hostile member: each is refused, nothing of it is stored, and the member goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <raft.h>

#include "fake_files.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"

#define ME 2u

struct member {
    struct cv_agreement *agreement;
    struct fake_files disk;
    struct cv_complaint complaint;
    uint64_t now_ms, committed, warnings;
    char warning[600];
    bool failed;
};

static void on_send(void *context, uint64_t to, const void *bytes, size_t length)
{
    (void)context, (void)to, (void)bytes, (void)length;
}

static void on_committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    struct member *member = context;
    (void)bytes, (void)length;
    member->committed = index;
}

static void on_leader(void *context, uint64_t leader, uint64_t term)
{
    (void)context, (void)leader, (void)term;
}

static void on_decided(void *context, uint64_t number, bool done)
{
    (void)context, (void)number, (void)done;
}

static void on_failed(void *context, const char *why)
{
    struct member *member = context;
    assert_true(*why != '\0');
    member->failed = true;
}

static void on_wake(void *context)
{
    (void)context;
}

static uint64_t on_now(void *context)
{
    return ((struct member *)context)->now_ms;
}

static bool fits(void *context, const void *bytes, size_t length)
{
    (void)context;
    return length > 0 && *(const char *)bytes == '+';
}

static bool anything_fits(void *context, const void *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return true;
}

static void on_warning(void *context, const char *line)
{
    struct member *member = context;
    member->warnings++;
    snprintf(member->warning, sizeof member->warning, "%s", line);
}

static int try_to_start(struct member *member, bool (*what_fits)(void *, const void *, size_t))
{
    static const struct cv_seat seats[] = {{1, CV_SEAT_VOTER}, {2, CV_SEAT_VOTER}, {3, CV_SEAT_VOTER}};
    const struct cv_agreement_options options = {.id = ME,
                                                 .directory = "fake",
                                                 .files = &member->disk.files,
                                                 .seats = seats,
                                                 .seat_count = 3,
                                                 .fresh = 77,
                                                 .seed = 1};
    const struct cv_agreement_calls calls = {.send = on_send,
                                             .committed = on_committed,
                                             .leader = on_leader,
                                             .decided = on_decided,
                                             .failed = on_failed,
                                             .wake = on_wake,
                                             .now_ms = on_now,
                                             .fits = what_fits,
                                             .warn = on_warning,
                                             .context = member};
    return cv_agreement_open(&member->agreement, &options, &calls, &member->complaint);
}

static struct member *begin(bool (*what_fits)(void *, const void *, size_t))
{
    struct member *member = calloc(1, sizeof *member);
    assert_non_null(member);
    member->now_ms = 1000;
    fake_init(&member->disk);
    assert_int_equal(try_to_start(member, what_fits), 0);
    return member;
}

static void work(struct member *member)
{
    while (cv_agreement_work(member->agreement))
        ;
    cv_agreement_settle(member->agreement);
}

static void end(struct member *member)
{
    assert_false(member->failed);
    if (member->agreement)
        cv_agreement_close(member->agreement);
    fake_free(&member->disk);
    free(member);
}

/* ---- messages ---- */

struct forged_entry {
    uint64_t term;
    size_t length;
    char first;
};

static void begin_message(struct cv_buffer *bytes, unsigned type, uint64_t term)
{
    cv_put_64(bytes, 1);
    cv_put_64(bytes, 0);
    cv_put_64(bytes, term);
    cv_put_64(bytes, 0);
    cv_put_8(bytes, 1);
    cv_put_8(bytes, (uint8_t)type);
    cv_put_64(bytes, term);
}

static int hear(struct member *member, uint64_t from, struct cv_buffer *bytes)
{
    const int error = cv_agreement_hear(member->agreement, from, bytes->bytes, bytes->length);
    free(bytes->bytes);
    return error;
}

static int append(struct member *member, uint64_t from, uint64_t term, uint64_t prev, uint64_t prev_term,
                  uint64_t commit, const struct forged_entry *entry)
{
    struct cv_buffer bytes = {0};
    begin_message(&bytes, RAFT_IO_APPEND_ENTRIES, term);
    cv_put_64(&bytes, prev);
    cv_put_64(&bytes, prev_term);
    cv_put_64(&bytes, commit);
    cv_put_32(&bytes, entry ? 1 : 0);
    if (entry) {
        cv_put_64(&bytes, entry->term);
        cv_put_8(&bytes, RAFT_COMMAND);
        cv_put_32(&bytes, (uint32_t)entry->length);
        for (size_t i = 0; i < entry->length; i++)
            cv_put_8(&bytes, (uint8_t)entry->first);
    }
    return hear(member, from, &bytes);
}

static uint64_t last_index(const struct member *member)
{
    return journal_next(&member->agreement->mirror) - 1;
}

static void no_entry_is_stored_that_does_not_fit(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry good = {2, CV_AGREEMENT_ENTRY_BYTES, '+'}, large = {2, CV_AGREEMENT_ENTRY_BYTES + 1, '+'},
                              nonsense = {2, 8, '-'};
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &large), CV_EINPUT);
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &nonsense), CV_EINPUT);
    assert_int_equal(last_index(member), 1);
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &good), 0);
    assert_int_equal(last_index(member), 2);
    work(member);
    end(member);
}

/*
 * libraft counts references by index and term. Given 2, 3 and 2 again while the disk writes, it frees an entry twice.
 */
static void a_leader_does_not_change_its_log(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'}, three = {3, 8, '+'};
    assert_int_equal(append(member, 1, 3, 1, 1, 1, &two), 0);
    assert_int_equal(append(member, 1, 3, 1, 1, 1, &three), CV_EINPUT);
    assert_int_equal(append(member, 1, 3, 1, 1, 1, &two), 0);
    work(member);
    end(member);
}

/* Another leader may have another entry there. The message is accepted when the disk has finished. */
static void what_is_being_written_is_not_taken_back(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'}, three = {3, 8, '+'};
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &two), 0);
    assert_int_equal(append(member, 3, 3, 1, 1, 1, &three), 0);
    assert_int_equal(member->agreement->mirror.entries[1].term, 2);
    assert_int_equal(append(member, 1, 4, 1, 1, 1, &two), 0);
    work(member);
    assert_int_equal(append(member, 3, 5, 1, 1, 1, &three), 0);
    assert_int_equal(member->agreement->mirror.entries[1].term, 3);
    work(member);
    end(member);
}

static void what_was_agreed_on_stays(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'}, three = {3, 8, '+'};
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &two), 0);
    work(member);
    assert_int_equal(append(member, 1, 2, 2, 2, 2, NULL), 0);
    assert_int_equal(member->committed, 2);
    assert_int_equal(append(member, 3, 3, 1, 1, 1, &three), CV_EINPUT);
    assert_int_equal(append(member, 3, 3, 2, 3, 2, NULL), CV_EINPUT); /* nor was another one there before */
    assert_int_equal(append(member, 3, 3, 2, 2, 2, NULL), 0);
    end(member);
}

/* After a restart no member has told yet what is agreed on; the directory remembers it. */
static void what_was_agreed_on_stays_after_a_restart(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'}, three = {3, 8, '+'};
    assert_int_equal(append(member, 1, 2, 1, 1, 1, &two), 0);
    work(member);
    assert_int_equal(append(member, 1, 2, 2, 2, 2, NULL), 0);
    cv_agreement_keep(member->agreement, 2);
    work(member);
    cv_agreement_close(member->agreement);
    member->agreement = NULL;
    assert_int_equal(try_to_start(member, fits), 0);
    assert_int_equal(cv_agreement_identity(member->agreement)->agreed, 2);
    assert_int_equal(cv_agreement_identity(member->agreement)->starts, 2);
    member->now_ms += 1000;
    assert_int_equal(append(member, 3, 3, 1, 1, 1, &three), CV_EINPUT);
    assert_int_equal(last_index(member), 2);
    assert_int_equal(append(member, 3, 3, 2, 2, 2, NULL), 0);
    end(member);
}

static void terms_do_not_leap(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    assert_int_equal(append(member, 1, (uint64_t)1 << 40, 1, 1, 1, NULL), CV_EINPUT);
    struct cv_buffer bytes = {0};
    begin_message(&bytes, RAFT_IO_REQUEST_VOTE, (uint64_t)1 << 40);
    for (uint64_t number = 1; number < 4; number++)
        cv_put_64(&bytes, 1);
    cv_put_8(&bytes, 0);
    cv_put_8(&bytes, 0);
    assert_int_equal(hear(member, 1, &bytes), CV_EINPUT);
    assert_int_equal(member->agreement->raft.current_term, 1);
    end(member);
}

static void one_leads_in_a_term(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'};
    assert_int_equal(append(member, 1, 2, 1, 1, 1, NULL), 0);
    assert_int_equal(append(member, 3, 2, 1, 1, 1, &two), 0); /* either of them may be honest */
    assert_int_equal(last_index(member), 1);
    end(member);
}

static int ask_for_vote(struct member *member, uint64_t from, uint64_t term)
{
    struct cv_buffer bytes = {0};
    begin_message(&bytes, RAFT_IO_REQUEST_VOTE, term);
    cv_put_64(&bytes, from);
    cv_put_64(&bytes, 1);
    cv_put_64(&bytes, 1);
    cv_put_8(&bytes, 0);
    cv_put_8(&bytes, 0);
    return hear(member, from, &bytes);
}

/* Not even for the member to which this one, as leader, wanted to hand over. */
static void one_vote_in_a_term(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    struct raft_transfer transfer = {.id = 3};
    member->agreement->raft.transfer = &transfer;
    assert_int_equal(ask_for_vote(member, 1, 2), 0);
    assert_int_equal(member->agreement->mirror.vote, 1);
    assert_int_equal(ask_for_vote(member, 3, 2), 0);
    assert_int_equal(member->agreement->mirror.vote, 1);
    assert_int_equal(ask_for_vote(member, 3, 3), 0);
    assert_int_equal(member->agreement->mirror.vote, 3);
    member->agreement->raft.transfer = NULL;
    end(member);
}

/* Entry 20, of term 2, makes 4 a member, too. */
static void append_change(struct member *member)
{
    struct raft_configuration members;
    struct raft_buffer encoded = {0};
    struct cv_buffer bytes = {0};
    raft_configuration_init(&members);
    for (raft_id id = 1; id <= 4; id++)
        assert_int_equal(raft_configuration_add(&members, id, (char[]){(char)('0' + id), '\0'}, RAFT_VOTER), 0);
    assert_int_equal(raft_configuration_encode(&members, &encoded), 0);
    begin_message(&bytes, RAFT_IO_APPEND_ENTRIES, 2);
    cv_put_64(&bytes, 19);
    cv_put_64(&bytes, 2);
    cv_put_64(&bytes, 1);
    cv_put_32(&bytes, 1);
    cv_put_64(&bytes, 2);
    cv_put_8(&bytes, RAFT_CHANGE);
    cv_put_32(&bytes, (uint32_t)encoded.len);
    cv_raft_clear_padding(encoded.base, encoded.len);
    cv_put_bytes(&bytes, encoded.base, encoded.len);
    assert_int_equal(hear(member, 1, &bytes), 0);
    raft_free(encoded.base);
    raft_configuration_close(&members);
}

/*
 * After a restart libraft takes the last change of members as agreed on. A snapshot of earlier entries must not have
 * it.
 */
static void a_snapshot_has_no_members_of_later(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    const struct forged_entry two = {2, 8, '+'};
    for (uint64_t index = 2; index < 20; index++) {
        assert_int_equal(append(member, 1, 2, index - 1, index == 2 ? 1 : 2, 1, &two), 0);
        work(member);
    }
    append_change(member);
    work(member);
    assert_int_equal(last_index(member), 20);
    cv_agreement_close(member->agreement);
    member->agreement = NULL;
    assert_int_equal(try_to_start(member, fits), 0);
    member->now_ms += 1000;
    assert_int_equal(append(member, 1, 2, 20, 2, 18, NULL), 0);
    assert_int_equal(member->agreement->raft.last_applied, 18);
    assert_int_equal(member->agreement->mirror.snapshot_index, 0);
    assert_int_equal(append(member, 1, 2, 20, 2, 20, NULL), 0);
    assert_int_equal(member->agreement->mirror.snapshot_index, 20);
    work(member);
    end(member);
}

static int install(struct member *member, uint64_t term, uint64_t last, uint64_t index, size_t length)
{
    struct cv_buffer bytes = {0}, members = {0};
    cv_put_8(&members, 1);
    cv_put_64(&members, 3);
    for (uint64_t id = 1; id <= 3; id++) {
        const char address[] = {(char)('0' + id), '\0'};
        cv_put_64(&members, id);
        cv_put_bytes(&members, address, sizeof address);
        cv_put_8(&members, RAFT_VOTER);
    }
    begin_message(&bytes, RAFT_IO_INSTALL_SNAPSHOT, term);
    cv_put_64(&bytes, last);
    cv_put_64(&bytes, term);
    cv_put_64(&bytes, 1);
    cv_put_32(&bytes, (uint32_t)members.length);
    cv_put_bytes(&bytes, members.bytes, members.length);
    cv_put_32(&bytes, (uint32_t)(8 + length));
    cv_put_64(&bytes, index);
    for (size_t i = 0; i < length; i++)
        cv_put_8(&bytes, '+');
    free(members.bytes);
    return hear(member, 1, &bytes);
}

static void a_snapshot_is_an_entry_and_its_index(void **state)
{
    (void)state;
    struct member *member = begin(fits);
    assert_int_equal(install(member, 2, 9, 8, CV_AGREEMENT_ENTRY_BYTES + 1), CV_EINPUT);
    assert_int_equal(install(member, 2, 9, 10, 8), CV_EINPUT);
    assert_int_equal(install(member, 2, 9, 8, 0), CV_EINPUT);
    assert_int_equal(install(member, 2, 9, 8, 8), 0);
    work(member);
    assert_int_equal(member->committed, 8);
    assert_int_equal(install(member, 2, 5, 5, 8), 0); /* it has more than that */
    work(member);
    end(member);
}

/* ---- what lies on the disk ---- */

/* Stores three entries. The second is one that an unguarded member would accept. */
static struct member *stored_nonsense(uint64_t commit)
{
    struct member *member = begin(anything_fits);
    for (uint64_t index = 2; index <= 4; index++) {
        const struct forged_entry entry = {2, 8, index == 3 ? '-' : '+'};
        assert_int_equal(append(member, 1, 2, index - 1, index == 2 ? 1 : 2, commit, &entry), 0);
        work(member);
    }
    cv_agreement_close(member->agreement);
    member->agreement = NULL;
    return member;
}

static void nonsense_at_the_end_of_a_journal_is_cut_off(void **state)
{
    (void)state;
    struct member *member = stored_nonsense(1);
    assert_int_equal(try_to_start(member, fits), 0);
    assert_string_equal(member->warning, "fake/journal: entry 3 makes no sense; it is cut off, with 1 after it");
    assert_int_equal(last_index(member), 2);
    work(member);
    cv_agreement_close(member->agreement);
    assert_int_equal(try_to_start(member, fits), 0);
    assert_int_equal(member->warnings, 1);
    assert_int_equal(last_index(member), 2);
    end(member);
}

static bool nothing_fits(void *context, const void *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return false;
}

static void nonsense_that_was_agreed_on_is_told(void **state)
{
    (void)state;
    struct member *member = begin(anything_fits);
    assert_int_equal(install(member, 2, 9, 8, 8), 0);
    work(member);
    cv_agreement_close(member->agreement);
    member->agreement = NULL;
    assert_int_equal(try_to_start(member, nothing_fits), CV_EINPUT);
    assert_non_null(strstr(member->complaint.text, "let it join again"));
    end(member);
}

/* Equal members are equal bytes, whatever was in memory before. */
static void members_are_written_without_what_lay_in_memory(void **state)
{
    (void)state;
    struct raft_configuration members;
    struct raft_buffer encoded = {0};
    raft_configuration_init(&members);
    assert_int_equal(raft_configuration_add(&members, 1, "1", RAFT_VOTER), 0);
    assert_int_equal(raft_configuration_encode(&members, &encoded), 0);
    const size_t used = 1 + 8 + 8 + 2 + 1;
    memset((unsigned char *)encoded.base + used, 0xaa, encoded.len - used);
    cv_raft_clear_padding(encoded.base, encoded.len);
    for (size_t i = used; i < encoded.len; i++)
        assert_int_equal(((unsigned char *)encoded.base)[i], 0);
    raft_free(encoded.base);
    raft_configuration_close(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_entry_is_stored_that_does_not_fit),
        cmocka_unit_test(a_leader_does_not_change_its_log),
        cmocka_unit_test(what_is_being_written_is_not_taken_back),
        cmocka_unit_test(what_was_agreed_on_stays),
        cmocka_unit_test(what_was_agreed_on_stays_after_a_restart),
        cmocka_unit_test(terms_do_not_leap),
        cmocka_unit_test(one_leads_in_a_term),
        cmocka_unit_test(one_vote_in_a_term),
        cmocka_unit_test(a_snapshot_has_no_members_of_later),
        cmocka_unit_test(a_snapshot_is_an_entry_and_its_index),
        cmocka_unit_test(nonsense_at_the_end_of_a_journal_is_cut_off),
        cmocka_unit_test(nonsense_that_was_agreed_on_is_told),
        cmocka_unit_test(members_are_written_without_what_lay_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
