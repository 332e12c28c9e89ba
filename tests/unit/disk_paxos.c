// SPDX-License-Identifier: MIT
/* The block of a member as bytes, and the file that holds two of them. tests/agreed_views.c tests the agreement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "group/disk_paxos/disk_paxos_block.h"
#include "group/disk_paxos/disk_paxos_file.h"

static const struct cv_roster roster = {.count = 2, .ids = {7, 9}};

static const struct cv_disk_paxos_block block = {
    .epoch = 5,
    .entry = {.members = 3, .coordinator = 1, .proposer = 0, .pinned = true},
    .promised = 42,
    .accepted = 40,
    .value = {.members = 2, .coordinator = 1, .proposer = 1},
    .longest_ttl_s = 3600,
};

static void written_and_read(void **state)
{
    (void)state;
    unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_block read;
    cv_disk_paxos_write(&block, &roster, 0, bytes);
    assert_null(cv_disk_paxos_read(bytes, &roster, 0, &read));
    assert_int_equal(read.epoch, 5);
    assert_int_equal(read.promised, 42);
    assert_int_equal(read.accepted, 40);
    assert_int_equal(read.longest_ttl_s, 3600);
    assert_int_equal(read.entry.members, 3);
    assert_int_equal(read.entry.coordinator, 1);
    assert_int_equal(read.entry.proposer, 0);
    assert_true(read.entry.pinned);
    assert_int_equal(read.value.members, 2);
    assert_int_equal(read.value.proposer, 1);
    assert_false(read.value.pinned);
}

static void never_written(void **state)
{
    (void)state;
    const unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES] = {0};
    struct cv_disk_paxos_block read = block;
    assert_null(cv_disk_paxos_read(bytes, &roster, 1, &read));
    assert_int_equal(read.epoch, 0);
    assert_int_equal(read.promised, 0);
}

/* With any one bit inverted, it is no block any more. */
static void damaged(void **state)
{
    (void)state;
    unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_block read;
    cv_disk_paxos_write(&block, &roster, 0, bytes);
    for (size_t bit = 0; bit < (size_t)64 * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_non_null(cv_disk_paxos_read(bytes, &roster, 0, &read));
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

static void of_others(void **state)
{
    (void)state;
    const struct cv_roster strangers = {.count = 2, .ids = {7, 8}};
    unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_block read;
    cv_disk_paxos_write(&block, &roster, 0, bytes);
    assert_non_null(cv_disk_paxos_read(bytes, &roster, 1, &read));
    assert_non_null(cv_disk_paxos_read(bytes, &strangers, 0, &read));
}

static void woken(void *data)
{
    (void)data;
}

static void await(struct cv_disk_paxos_file *file, struct cv_disk_paxos_answer *answer)
{
    while (!cv_disk_paxos_file_done(file, answer))
        usleep(1000);
}

static void two_share_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/conclave-tie-XXXXXX";
    unsigned char records[2][CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_answer answer;
    struct cv_disk_paxos_file *files[2];
    close(mkstemp(path));
    for (cv_node i = 0; i < 2; i++) {
        assert_non_null(files[i] = cv_disk_paxos_file_open(path, i, woken, NULL));
        cv_disk_paxos_write(&block, &roster, i, records[i]);
        cv_disk_paxos_file_start(files[i], records[i]);
        await(files[i], &answer);
        assert_string_equal(answer.trouble, "");
        assert_memory_equal(answer.records[i], records[i], CV_DISK_PAXOS_RECORD_BYTES);
    }
    cv_disk_paxos_file_start(files[0], NULL);
    await(files[0], &answer);
    assert_memory_equal(answer.records, records, sizeof records);
    unlink(path);
    cv_disk_paxos_file_start(files[1], records[1]);
    await(files[1], &answer);
    assert_string_not_equal(answer.trouble, ""); /* it is never made anew */
    assert_int_equal(access(path, F_OK), -1);
    for (int i = 0; i < 2; i++)
        cv_disk_paxos_file_close(files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read), cmocka_unit_test(never_written),    cmocka_unit_test(damaged),
        cmocka_unit_test(of_others),        cmocka_unit_test(two_share_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
