// SPDX-License-Identifier: MIT
#include "group/raft/raft_codec.h"

#include <raft.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/random.h"

#define ROUNDS 20000u

static uint64_t below(struct cv_random *random, uint64_t limit)
{
    return cv_random_below(random, limit);
}

/* ---- messages as libraft would send them ---- */

static uint64_t some_number(struct cv_random *random)
{
    const uint64_t limits[] = {2, 10, 1000, UINT32_MAX};
    return below(random, limits[below(random, 4)]);
}

static void some_members(struct cv_random *random, struct raft_configuration *members)
{
    raft_configuration_init(members);
    const uint64_t count = 1 + below(random, 7);
    for (uint64_t i = 1; i <= count; i++) {
        char address[24];
        snprintf(address, sizeof address, "%llu", (unsigned long long)i * i);
        assert_int_equal(raft_configuration_add(members, i * i, address, i == 1 ? RAFT_VOTER : (int)below(random, 3)),
                         0);
    }
}

static struct raft_buffer some_bytes(struct cv_random *random, size_t least)
{
    struct raft_buffer bytes = {.len = least + below(random, 100)};
    bytes.base = raft_malloc(bytes.len + 1);
    for (size_t i = 0; i < bytes.len; i++)
        ((unsigned char *)bytes.base)[i] = (unsigned char)below(random, 256);
    return bytes;
}

static void some_entries(struct cv_random *random, struct raft_append_entries *append)
{
    raft_term term = append->prev_log_term > 0 ? append->prev_log_term : 1;
    append->n_entries = (unsigned)below(random, 6);
    append->entries = append->n_entries ? raft_calloc(append->n_entries, sizeof *append->entries) : NULL;
    for (unsigned i = 0; i < append->n_entries; i++) {
        struct raft_entry *entry = &append->entries[i];
        term += below(random, append->term - term + 1);
        entry->term = term;
        entry->type = (unsigned short)(1 + below(random, 3));
        if (append->prev_log_index + i == 0)
            entry->type = RAFT_CHANGE;
        if (entry->type == RAFT_CHANGE) {
            struct raft_configuration members;
            some_members(random, &members);
            assert_int_equal(raft_configuration_encode(&members, &entry->buf), 0);
            raft_configuration_close(&members);
        } else {
            entry->buf = some_bytes(random, 1);
        }
    }
}

static struct raft_message some_message(struct cv_random *random)
{
    struct raft_message message = {.type = (unsigned short)(1 + below(random, 6))};
    const raft_term term = 1 + some_number(random);
    const raft_index index = some_number(random);
    const raft_term index_term = index == 0 ? 0 : 1 + below(random, term);
    switch (message.type) {
    case RAFT_IO_APPEND_ENTRIES:
        message.append_entries =
            (struct raft_append_entries){.term = term, .prev_log_index = index, .prev_log_term = index_term};
        some_entries(random, &message.append_entries);
        message.append_entries.leader_commit = below(random, index + message.append_entries.n_entries + 1);
        break;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        message.append_entries_result =
            (struct raft_append_entries_result){term, some_number(random), some_number(random)};
        break;
    case RAFT_IO_REQUEST_VOTE:
        message.request_vote = (struct raft_request_vote){term,       1 + some_number(random), index,
                                                          index_term, below(random, 2),        below(random, 2)};
        break;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        message.request_vote_result =
            (struct raft_request_vote_result){term, below(random, 2), (raft_tribool)below(random, 3)};
        break;
    case RAFT_IO_INSTALL_SNAPSHOT:
        message.install_snapshot = (struct raft_install_snapshot){.term = term,
                                                                  .last_index = index + 1,
                                                                  .last_term = 1 + below(random, term),
                                                                  .conf_index = 1 + below(random, index + 1),
                                                                  .data = some_bytes(random, 0)};
        some_members(random, &message.install_snapshot.conf);
        break;
    default:
        message.timeout_now = (struct raft_timeout_now){term, index, index_term};
        break;
    }
    return message;
}

/* Entries made here have a block of memory each; decoded entries share one. */
static void free_message(struct raft_message *message)
{
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        for (unsigned i = 0; i < message->append_entries.n_entries; i++)
            raft_free(message->append_entries.entries[i].buf.base);
        raft_free(message->append_entries.entries);
    } else {
        cv_raft_discard(message);
    }
}

/* ---- comparing ---- */

static void assert_same_members(const struct raft_configuration *a, const struct raft_configuration *b)
{
    assert_int_equal(a->n, b->n);
    for (unsigned i = 0; i < a->n; i++) {
        assert_true(a->servers[i].id == b->servers[i].id && a->servers[i].role == b->servers[i].role);
        assert_string_equal(a->servers[i].address, b->servers[i].address);
    }
}

static void assert_same_bytes(const struct raft_buffer *a, const struct raft_buffer *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->base, b->base, a->len);
}

static void assert_same(const struct raft_message *a, const struct raft_message *b)
{
    assert_int_equal(a->type, b->type);
    if (a->type == RAFT_IO_APPEND_ENTRIES) {
        const struct raft_append_entries *x = &a->append_entries, *y = &b->append_entries;
        assert_true(x->term == y->term && x->prev_log_index == y->prev_log_index);
        assert_true(x->prev_log_term == y->prev_log_term && x->leader_commit == y->leader_commit);
        assert_int_equal(x->n_entries, y->n_entries);
        for (unsigned i = 0; i < x->n_entries; i++) {
            assert_true(x->entries[i].term == y->entries[i].term && x->entries[i].type == y->entries[i].type);
            assert_same_bytes(&x->entries[i].buf, &y->entries[i].buf);
        }
    } else if (a->type == RAFT_IO_INSTALL_SNAPSHOT) {
        const struct raft_install_snapshot *x = &a->install_snapshot, *y = &b->install_snapshot;
        assert_true(x->term == y->term && x->last_index == y->last_index);
        assert_true(x->last_term == y->last_term && x->conf_index == y->conf_index);
        assert_same_members(&x->conf, &y->conf);
        assert_same_bytes(&x->data, &y->data);
    } else if (a->type == RAFT_IO_REQUEST_VOTE) {
        const struct raft_request_vote *x = &a->request_vote, *y = &b->request_vote;
        assert_true(x->term == y->term && x->candidate_id == y->candidate_id);
        assert_true(x->last_log_index == y->last_log_index && x->last_log_term == y->last_log_term);
        assert_true(x->disrupt_leader == y->disrupt_leader && x->pre_vote == y->pre_vote);
    } else if (a->type == RAFT_IO_REQUEST_VOTE_RESULT) {
        const struct raft_request_vote_result *x = &a->request_vote_result, *y = &b->request_vote_result;
        assert_true(x->term == y->term && x->vote_granted == y->vote_granted && x->pre_vote == y->pre_vote);
    } else {
        /* The other two are three numbers each. */
        assert_memory_equal(&a->timeout_now, &b->timeout_now, sizeof a->timeout_now);
    }
    assert_true(cv_raft_term(a) == cv_raft_term(b));
}

/* ---- tests ---- */

static void what_is_written_can_be_read(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 1, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct raft_message message = some_message(&random), read;
        struct cv_buffer bytes = {0};
        cv_raft_encode(&bytes, &message);
        assert_int_equal(cv_raft_decode(bytes.bytes, bytes.length, &read), 0);
        assert_same(&message, &read);
        cv_raft_discard(&read);
        free_message(&message);
        free(bytes.bytes);
    }
}

static void half_a_message_is_none(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 2, 0);
    for (uint32_t round = 0; round < ROUNDS / 20; round++) {
        struct raft_message message = some_message(&random), read;
        struct cv_buffer bytes = {0};
        cv_raft_encode(&bytes, &message);
        for (size_t length = 0; length < bytes.length; length++) {
            /* In a block of its own, so that a sanitizer sees a read beyond its end. */
            unsigned char *part = malloc(length + !length);
            memcpy(part, bytes.bytes, length);
            assert_int_equal(cv_raft_decode(part, length, &read), CV_EINPUT);
            free(part);
        }
        cv_put_8(&bytes, 0);
        assert_int_equal(cv_raft_decode(bytes.bytes, bytes.length, &read), CV_EINPUT);
        free_message(&message);
        free(bytes.bytes);
    }
}

/* The assumptions of libraft, checked once more. */
static void assert_sane(const struct raft_message *message)
{
    const uint64_t most = UINT64_MAX / 4;
    assert_true(message->type >= RAFT_IO_APPEND_ENTRIES && message->type <= RAFT_IO_TIMEOUT_NOW);
    assert_true(cv_raft_term(message) <= most);
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        const struct raft_append_entries *append = &message->append_entries;
        raft_term last = append->prev_log_term;
        assert_true(append->leader_commit <= append->prev_log_index + append->n_entries);
        assert_true((append->prev_log_index == 0) == (append->prev_log_term == 0));
        for (unsigned i = 0; i < append->n_entries; i++) {
            const struct raft_entry *entry = &append->entries[i];
            assert_true(entry->term >= last && entry->term >= 1 && entry->term <= append->term);
            assert_true(entry->type >= RAFT_COMMAND && entry->type <= RAFT_CHANGE && entry->buf.len > 0);
            assert_ptr_equal(entry->batch, append->entries[0].batch);
            last = entry->term;
        }
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        const struct raft_install_snapshot *install = &message->install_snapshot;
        assert_true(install->last_index > 0 && install->conf_index <= install->last_index && install->conf.n > 0);
    }
}

static void random_bytes_are_refused_or_sane(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 3, 0);
    uint32_t accepted = 0;
    for (uint32_t round = 0; round < 5 * ROUNDS; round++) {
        struct raft_message message = some_message(&random), read;
        struct cv_buffer bytes = {0};
        cv_raft_encode(&bytes, &message);
        free_message(&message);
        /* Changes some bytes of a good message, or all after its type. */
        const bool noise = below(&random, 4) == 0;
        for (uint64_t changes = noise ? bytes.length - 2 : 1 + below(&random, 3); changes > 0; changes--) {
            const size_t place = noise ? bytes.length - changes : below(&random, bytes.length);
            const unsigned char extremes[] = {0, 1, 0x7f, 0xff, (unsigned char)below(&random, 256)};
            bytes.bytes[place] = extremes[below(&random, sizeof extremes)];
        }
        unsigned char *exact = malloc(bytes.length);
        memcpy(exact, bytes.bytes, bytes.length);
        if (cv_raft_decode(exact, bytes.length, &read) == 0) {
            assert_sane(&read);
            cv_raft_discard(&read);
            accepted++;
        }
        free(exact);
        free(bytes.bytes);
    }
    assert_in_range(accepted, ROUNDS / 10, 4 * ROUNDS);
}

/* ---- one thing wrong each ---- */

static bool accepted(const struct raft_message *message)
{
    struct cv_buffer bytes = {0};
    struct raft_message read;
    cv_raft_encode(&bytes, message);
    const int error = cv_raft_decode(bytes.bytes, bytes.length, &read);
    free(bytes.bytes);
    if (error == 0)
        cv_raft_discard(&read);
    return error == 0;
}

static void votes_must_make_sense(void **state)
{
    (void)state;
    const struct raft_message good = {.type = RAFT_IO_REQUEST_VOTE, .request_vote = {5, 1, 7, 5, false, true}};
    assert_true(accepted(&good));
    struct raft_message bad = good;
    bad.request_vote.candidate_id = 0;
    assert_false(accepted(&bad));
    bad = good;
    bad.request_vote.last_log_term = 6;
    assert_false(accepted(&bad));
    bad = good;
    bad.request_vote.last_log_index = 0;
    assert_false(accepted(&bad));
    bad = good;
    bad.request_vote.term = UINT64_MAX;
    assert_false(accepted(&bad));
}

static void entries_must_make_sense(void **state)
{
    (void)state;
    struct raft_entry entries[] = {{.term = 3, .type = RAFT_COMMAND, .buf = {.base = "x", .len = 1}},
                                   {.term = 4, .type = RAFT_COMMAND, .buf = {.base = "y", .len = 1}}};
    struct raft_message message = {.type = RAFT_IO_APPEND_ENTRIES};
    message.append_entries = (struct raft_append_entries){
        .term = 4, .prev_log_index = 9, .prev_log_term = 3, .entries = entries, .n_entries = 2};
    assert_true(accepted(&message));
    entries[0].term = 5; /* later than the leader's */
    assert_false(accepted(&message));
    entries[0].term = 2; /* earlier than the one before */
    assert_false(accepted(&message));
    entries[0].term = 4;
    entries[1].term = 3;
    assert_false(accepted(&message));
    entries[1].term = 4;
    entries[1].type = 4;
    assert_false(accepted(&message));
    entries[1].type = RAFT_CHANGE; /* and "y" is no list of members */
    assert_false(accepted(&message));
    entries[1].type = RAFT_BARRIER;
    entries[1].buf.len = 0;
    assert_false(accepted(&message));
    entries[1].buf.len = 1;
    assert_true(accepted(&message));
    message.append_entries.prev_log_index = message.append_entries.prev_log_term = 0;
    assert_false(accepted(&message)); /* the first entry of all must name the members */
}

static void a_commit_never_goes_beyond_the_message(void **state)
{
    (void)state;
    const struct raft_message message = {
        .type = RAFT_IO_APPEND_ENTRIES,
        .append_entries = {.term = 4, .prev_log_index = 9, .prev_log_term = 3, .leader_commit = 12}};
    struct cv_buffer bytes = {0};
    struct raft_message read;
    cv_raft_encode(&bytes, &message);
    assert_int_equal(cv_raft_decode(bytes.bytes, bytes.length, &read), 0);
    assert_true(read.append_entries.leader_commit == 9);
    free(bytes.bytes);
}

static void members_must_be_distinct(void **state)
{
    (void)state;
    /* Two servers of the same id cannot be made by libraft; the second id's lowest byte is at 9 + 8 + 2 + 1. */
    struct raft_configuration members;
    struct raft_buffer bytes;
    raft_configuration_init(&members);
    assert_int_equal(raft_configuration_add(&members, 1, "1", RAFT_VOTER), 0);
    assert_int_equal(raft_configuration_add(&members, 2, "2", RAFT_VOTER), 0);
    assert_int_equal(raft_configuration_encode(&members, &bytes), 0);
    raft_configuration_close(&members);
    unsigned char *at = bytes.base;
    assert_int_equal(cv_raft_configuration(at, bytes.len, NULL), 0);
    assert_int_equal(at[20], 2);
    at[20] = 1;
    assert_int_equal(cv_raft_configuration(at, bytes.len, NULL), CV_EINPUT);
    assert_int_equal(cv_raft_configuration(at, bytes.len, &members), CV_EINPUT);
    at[20] = 0;
    assert_int_equal(cv_raft_configuration(at, bytes.len, NULL), CV_EINPUT);
    at[20] = 2;
    at[19] = 3; /* the role of the first */
    assert_int_equal(cv_raft_configuration(at, bytes.len, NULL), CV_EINPUT);
    raft_free(bytes.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_can_be_read),      cmocka_unit_test(half_a_message_is_none),
        cmocka_unit_test(random_bytes_are_refused_or_sane), cmocka_unit_test(votes_must_make_sense),
        cmocka_unit_test(entries_must_make_sense),          cmocka_unit_test(a_commit_never_goes_beyond_the_message),
        cmocka_unit_test(members_must_be_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
