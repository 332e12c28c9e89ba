// SPDX-License-Identifier: MIT
#include "group/raft/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_files.h"

/* ---- a plain second model: every entry by its index ---- */

#define MAX_MODEL 400u

struct model {
    uint64_t term, vote, first, next, snapshot_index, snapshot_term;
    uint64_t terms[MAX_MODEL];
    uint32_t words[MAX_MODEL]; /* the entries' bytes */
    uint32_t snapshot;
};

static const struct model empty_model = {.first = 1, .next = 1};

static void assert_found(const struct cv_journal *found, const struct model *model)
{
    assert_true(found->term == model->term && found->vote == model->vote);
    assert_true(found->snapshot_index == model->snapshot_index && found->snapshot_term == model->snapshot_term);
    if (model->snapshot_index > 0)
        assert_memory_equal(found->snapshot, &model->snapshot, sizeof model->snapshot);
    assert_true(journal_next(found) == model->next);
    assert_true(found->count == model->next - model->first);
    for (size_t i = 0; i < found->count; i++) {
        const uint64_t index = model->first + i;
        assert_true(found->first == model->first && found->entries[i].term == model->terms[index]);
        assert_int_equal(found->entries[i].size, sizeof *model->words);
        assert_memory_equal(found->entries[i].bytes, &model->words[index], sizeof *model->words);
    }
}

static bool is_found(const struct cv_journal *found, const struct model *model)
{
    return found->term == model->term && found->vote == model->vote && journal_next(found) == model->next &&
           found->snapshot_index == model->snapshot_index && found->count == model->next - model->first &&
           (found->count == 0 ||
            (found->entries[found->count - 1].term == model->terms[model->next - 1] &&
             memcmp(found->entries[found->count - 1].bytes, &model->words[model->next - 1], 4) == 0));
}

/* ---- random work, on the disk and in the model ---- */

static uint64_t below(struct cv_random *random, uint64_t limit)
{
    return cv_random_below(random, limit);
}

/* A word without zero bytes, so that no part of it looks like a sector that was never written. */
static uint32_t some_word(struct cv_random *random)
{
    return (uint32_t)cv_random_next(random) | 0x01010101u;
}

static void submit_vote(struct cv_disk *disk, struct model *model, struct cv_random *random)
{
    struct cv_buffer body = {0};
    if (model->vote != 0 || below(random, 2)) {
        model->term += 1 + below(random, 3);
        model->vote = 0;
    }
    if (below(random, 2))
        model->vote = 1 + below(random, 5);
    journal_put_vote(&body, model->term, model->vote);
    disk_submit(disk, CV_RECORD_VOTE, &body, NULL);
}

static void submit_entries(struct cv_disk *disk, struct model *model, struct cv_random *random)
{
    struct cv_buffer body = {0};
    struct cv_journal_entry entries[8];
    const size_t count = 1 + below(random, 8);
    const uint64_t first = model->next;
    if (model->next + count >= MAX_MODEL)
        return;
    for (size_t i = 0; i < count; i++) {
        model->terms[model->next] = model->term + 1;
        model->words[model->next] = some_word(random);
        entries[i] = (struct cv_journal_entry){model->term + 1, 1, 4, (unsigned char *)&model->words[model->next]};
        model->next++;
    }
    journal_put_entries(&body, first, entries, count);
    disk_submit(disk, CV_RECORD_ENTRIES, &body, NULL);
}

static void submit_cut(struct cv_disk *disk, struct model *model, struct cv_random *random)
{
    struct cv_buffer body = {0};
    const uint64_t least = model->snapshot_index + 1 > model->first ? model->snapshot_index + 1 : model->first;
    if (model->next <= least)
        return;
    model->next = least + below(random, model->next - least);
    journal_put_cut(&body, model->next);
    disk_submit(disk, CV_RECORD_CUT, &body, NULL);
    if (model->next == model->first)
        model->first = model->next = model->snapshot_index + 1;
}

static void submit_snapshot(struct cv_disk *disk, struct model *model, struct cv_random *random)
{
    struct cv_buffer body = {0};
    const bool foreign = below(random, 3) == 0;
    const uint64_t least = model->snapshot_index + 1, trailing = foreign ? 0 : 1 + below(random, 5);
    const uint64_t index = foreign ? model->next + below(random, 5) : model->next - 1;
    if (index < least || index + 10 >= MAX_MODEL || (!foreign && model->next == model->first))
        return;
    model->snapshot_index = index;
    model->snapshot_term = model->term + 1;
    model->snapshot = some_word(random);
    if (foreign)
        model->first = model->next = index + 1;
    else if (index > trailing && index - trailing + 1 > model->first)
        model->first = index - trailing + 1;
    journal_put_snapshot(&body, index, model->snapshot_term, trailing, &model->snapshot, sizeof model->snapshot);
    disk_submit(disk, CV_RECORD_SNAPSHOT, &body, NULL);
}

static void submit_anything(struct cv_disk *disk, struct model *model, struct cv_random *random)
{
    static void (*const works[])(struct cv_disk *, struct model *, struct cv_random *) = {
        submit_vote, submit_entries, submit_entries, submit_entries, submit_cut, submit_snapshot};
    works[below(random, sizeof works / sizeof *works)](disk, model, random);
}

static struct cv_disk *open_fake(struct fake_files *fake, struct cv_journal *found)
{
    struct cv_disk *disk = NULL;
    struct cv_complaint complaint = {{0}};
    const struct cv_disk_options options = {.id = 7, .directory = "fake", .files = &fake->files};
    if (disk_open(&disk, &options, found, &complaint) != 0)
        fail_msg("%s", complaint.text);
    return disk;
}

/* ---- tests ---- */

static void a_crash_loses_nothing_that_was_done(void **state)
{
    (void)state;
    struct cv_random random;
    uint64_t torn = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct fake_files fake;
        struct model model = empty_model, done = empty_model;
        cv_random_seed(&random, seed, 0);
        fake_init(&fake);
        for (uint32_t life = 0; life < 6; life++) {
            struct cv_journal found;
            struct cv_disk *disk = open_fake(&fake, &found);
            /* The work at the time of the crash is done, or not done. */
            if (is_found(&found, &model))
                done = model;
            assert_found(&found, &done);
            model = done;
            journal_free(&found);
            const uint64_t works = below(&random, 12);
            for (uint64_t i = 0; i < works; i++) {
                submit_anything(disk, &model, &random);
                struct cv_disk_done taken;
                while (disk_work(disk)) {
                    assert_true(disk_take(disk, &taken));
                    assert_int_equal(taken.error, 0);
                }
                done = model;
            }
            fake.fail_in = 1 + (uint32_t)below(&random, 6);
            fake.failure = EIO;
            submit_anything(disk, &model, &random);
            disk_work(disk);
            fake.dead = true;
            disk_close(disk);
            fake_crash(&fake, &random);
        }
        torn += fake.torn_tail;
        fake_free(&fake);
    }
    assert_true(torn > 50);
}

/* A journal with records of every kind. */
static void write_some(struct fake_files *fake, struct model *model, uint64_t seed)
{
    struct cv_random random;
    struct cv_journal found;
    cv_random_seed(&random, seed, 1);
    struct cv_disk *disk = open_fake(fake, &found);
    journal_free(&found);
    for (uint32_t i = 0; i < 12; i++)
        submit_anything(disk, model, &random);
    submit_entries(disk, model, &random);
    disk_close(disk);
}

static int try_open(struct fake_files *fake, struct cv_journal *found, struct cv_complaint *complaint)
{
    struct cv_disk *disk;
    const struct cv_disk_options options = {.id = 7, .directory = "fake", .files = &fake->files};
    const int error = disk_open(&disk, &options, found, complaint);
    if (error == 0)
        disk_close(disk);
    return error;
}

static void a_flipped_bit_is_noticed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct fake_files fake;
        struct model model = empty_model;
        fake_init(&fake);
        write_some(&fake, &model, seed);
        struct fake_inode *inode = fake.names[0];
        for (size_t i = 0; i < inode->length; i++) {
            struct cv_complaint complaint = {{0}};
            struct cv_journal found;
            const unsigned char before = inode->bytes[i];
            inode->bytes[i] ^= (unsigned char)(1u << (i % 8));
            assert_int_equal(try_open(&fake, &found, &complaint), CV_EINPUT);
            assert_true(strncmp(complaint.text, "fake/journal: is damaged at byte ", 33) == 0);
            inode->bytes[i] = before;
        }
        struct cv_journal found;
        struct cv_complaint complaint;
        assert_int_equal(try_open(&fake, &found, &complaint), 0);
        assert_found(&found, &model);
        journal_free(&found);
        fake_free(&fake);
    }
}

/* Cut off anywhere, the journal is as it was after some piece of work, and so is its length. */
static void a_torn_tail_is_cut_off(void **state)
{
    (void)state;
    struct fake_files fake;
    struct model model = empty_model;
    fake_init(&fake);
    write_some(&fake, &model, 11);
    struct fake_inode *inode = fake.names[0];
    const size_t whole = inode->length;
    size_t last = 0;
    for (size_t length = 1; length <= whole; length++) {
        struct cv_complaint complaint = {{0}};
        struct cv_journal found;
        inode->length = length;
        const int error = try_open(&fake, &found, &complaint);
        if (error != 0) {
            assert_int_equal(last, 0); /* not even the first record is there */
            assert_string_equal(complaint.text, "fake/journal: is damaged at byte 0");
            continue;
        }
        assert_true(inode->length >= last && inode->length <= length);
        last = inode->length;
        if (length == whole)
            assert_found(&found, &model);
        journal_free(&found);
        /* The bytes are still there, beyond the end. */
        inode->length = whole;
    }
    assert_int_equal(last, whole);
    fake_free(&fake);
}

static void a_full_disk_is_told_and_is_the_end(void **state)
{
    (void)state;
    struct fake_files fake;
    struct model model = empty_model;
    struct cv_random random;
    struct cv_journal found;
    struct cv_disk_done done;
    cv_random_seed(&random, 1, 0);
    fake_init(&fake);
    struct cv_disk *disk = open_fake(&fake, &found);
    journal_free(&found);
    submit_vote(disk, &model, &random);
    submit_entries(disk, &model, &random);
    submit_entries(disk, &model, &random);
    assert_true(disk_work(disk) && disk_take(disk, &done));
    assert_true(done.error == 0 && done.ticket == 1);
    fake.fail_in = 1;
    fake.failure = ENOSPC;
    assert_true(disk_work(disk) && disk_take(disk, &done));
    assert_true(done.error == CV_EFILE && done.ticket == 2);
    assert_string_equal(disk_complaint(disk), "fake/journal: No space left on device");
    /* There may be room again, but it is unknown what was written in between. */
    fake.fail_in = 0;
    const uint64_t changes = fake.changes;
    assert_true(disk_work(disk) && disk_take(disk, &done));
    assert_true(done.error == CV_EFILE && done.ticket == 3 && fake.changes == changes);
    disk_close(disk);
    fake_free(&fake);
}

static void a_long_journal_is_written_anew(void **state)
{
    (void)state;
    struct fake_files fake;
    struct cv_journal found;
    fake_init(&fake);
    struct cv_disk *disk = open_fake(&fake, &found);
    journal_free(&found);
    static unsigned char bytes[4096];
    const struct cv_journal_entry entry = {.term = 1, .type = 1, .size = sizeof bytes, .bytes = bytes};
    size_t longest = 0;
    for (uint32_t round = 0; round < 1000; round++) {
        struct cv_buffer entries = {0}, cut = {0};
        journal_put_entries(&entries, 1, &entry, 1);
        journal_put_cut(&cut, 1);
        disk_submit(disk, CV_RECORD_ENTRIES, &entries, NULL);
        disk_submit(disk, CV_RECORD_CUT, &cut, NULL);
        while (disk_work(disk))
            longest = fake.names[0]->length > longest ? fake.names[0]->length : longest;
    }
    assert_in_range(longest, 1u << 20, (1u << 20) + 8192);
    disk_close(disk);
    disk = open_fake(&fake, &found);
    assert_int_equal(found.count, 0);
    journal_free(&found);
    disk_close(disk);
    fake_free(&fake);
}

/* ---- real files ---- */

struct place {
    char path[64];
};

static struct place some_place(void)
{
    struct place place = {"/tmp/conclave-disk-XXXXXX"};
    assert_non_null(mkdtemp(place.path));
    return place;
}

static void remove_place(const struct place *place)
{
    static const char *const names[] = {"journal", "journal.new", "lock", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", place->path, names[i]);
        remove(path);
    }
}

static void on_wake(void *data)
{
    __atomic_add_fetch((uint32_t *)data, 1, __ATOMIC_SEQ_CST);
}

static void a_thread_writes_in_order(void **state)
{
    (void)state;
    const struct place place = some_place();
    uint32_t wakes = 0;
    const struct cv_disk_options options = {
        .id = 7, .directory = place.path, .threaded = true, .wake = on_wake, .wake_data = &wakes};
    struct model model = empty_model;
    struct cv_random random;
    struct cv_complaint complaint;
    struct cv_journal found;
    struct cv_disk *disk;
    cv_random_seed(&random, 5, 0);
    for (uint32_t life = 0; life < 3; life++) {
        assert_int_equal(disk_open(&disk, &options, &found, &complaint), 0);
        assert_found(&found, &model);
        journal_free(&found);
        struct cv_disk_done done;
        uint64_t expected = 1;
        uint32_t seen = wakes;
        for (uint32_t i = 0; i < 60; i++)
            submit_anything(disk, &model, &random);
        while (expected < 40) {

            if (!disk_take(disk, &done)) {
                nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
                continue;
            }
            assert_int_equal(done.error, 0);
            assert_true(done.ticket == expected++);
        }
        assert_true(__atomic_load_n(&wakes, __ATOMIC_SEQ_CST) > seen);
        disk_close(disk); /* the rest is written nevertheless */
    }
    remove_place(&place);
}

static void a_directory_has_one_owner(void **state)
{
    (void)state;
    const struct place place = some_place();
    struct cv_disk_options options = {.id = 7, .directory = place.path};
    struct cv_complaint complaint;
    struct cv_journal found;
    struct cv_disk *disk, *other;
    char expected[192];
    assert_int_equal(disk_open(&disk, &options, &found, &complaint), 0);
    journal_free(&found);
    assert_int_equal(disk_open(&other, &options, &found, &complaint), CV_EFILE);
    snprintf(expected, sizeof expected, "%s: another process uses this directory", place.path);
    assert_string_equal(complaint.text, expected);
    disk_close(disk);
    options.id = 8;
    assert_int_equal(disk_open(&other, &options, &found, &complaint), CV_EINPUT);
    snprintf(expected, sizeof expected,
             "%s/journal: is that of node 6, and not of node 7, which this is: see [node] directory", place.path);
    assert_string_equal(complaint.text, expected);
    remove_place(&place);
}

/* A directory keeps its number, and every start is counted before the node tells it. */
static void a_directory_counts_its_starts(void **state)
{
    (void)state;
    const struct place place = some_place();
    struct cv_complaint complaint;
    struct cv_journal found;
    struct cv_disk *disk;
    for (uint32_t start = 1; start <= 3; start++) {
        const struct cv_disk_options options = {.id = 7, .directory = place.path, .fresh = 40 + start};
        assert_int_equal(disk_open(&disk, &options, &found, &complaint), 0);
        assert_int_equal(found.identity.directory, 41);
        assert_int_equal(found.identity.starts, start);
        assert_true(found.identity.group == (start > 1 ? 99 : 0) && found.identity.agreed == (start > 1 ? 5 : 0));
        struct cv_identity identity = found.identity;
        struct cv_buffer body = {0};
        identity.group = 99;
        identity.agreed = 5;
        journal_put_identity(&body, &identity);
        disk_submit(disk, CV_RECORD_IDENTITY, &body, NULL);
        assert_true(disk_work(disk));
        disk_close(disk);
        journal_free(&found);
    }
    remove_place(&place);
}

/* Another number, another group, or a lower count: it is no record of this directory. */
static void an_identity_does_not_change(void **state)
{
    (void)state;
    const struct cv_identity first = {.group = 9, .directory = 3, .starts = 2, .agreed = 7};
    const struct cv_identity wrong[] = {{.group = 8, .directory = 3, .starts = 2, .agreed = 7},
                                        {.group = 9, .directory = 4, .starts = 2, .agreed = 7},
                                        {.group = 9, .directory = 3, .starts = 1, .agreed = 7},
                                        {.group = 9, .directory = 3, .starts = 2, .agreed = 6}};
    struct cv_journal journal = {.id = 7};
    struct cv_buffer body = {0};
    journal_put_identity(&body, &first);
    assert_int_equal(journal_play(&journal, CV_RECORD_IDENTITY, body.bytes, body.length), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        body.length = 0;
        journal_put_identity(&body, &wrong[i]);
        assert_int_equal(journal_play(&journal, CV_RECORD_IDENTITY, body.bytes, body.length), CV_EINPUT);
    }
    free(body.bytes);
    journal_free(&journal);
}

static void what_is_wrong_with_a_path_is_told(void **state)
{
    (void)state;
    const struct place place = some_place();
    struct cv_complaint complaint;
    struct cv_journal found;
    struct cv_disk *disk;
    char path[96], expected[160];
    snprintf(path, sizeof path, "%s/no/such", place.path);
    const struct cv_disk_options missing = {.id = 7, .directory = path};
    assert_int_equal(disk_open(&disk, &missing, &found, &complaint), CV_EFILE);
    snprintf(expected, sizeof expected, "%s: No such file or directory", path);
    assert_string_equal(complaint.text, expected);
    snprintf(path, sizeof path, "%s/journal", place.path);
    assert_int_equal(mkdir(path, 0700), 0);
    const struct cv_disk_options blocked = {.id = 7, .directory = place.path};
    assert_int_equal(disk_open(&disk, &blocked, &found, &complaint), CV_EFILE);
    snprintf(expected, sizeof expected, "%s: Is a directory", path);
    assert_string_equal(complaint.text, expected);
    assert_int_equal(rmdir(path), 0);
    remove_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_loses_nothing_that_was_done),
        cmocka_unit_test(a_flipped_bit_is_noticed),
        cmocka_unit_test(a_torn_tail_is_cut_off),
        cmocka_unit_test(a_full_disk_is_told_and_is_the_end),
        cmocka_unit_test(a_long_journal_is_written_anew),
        cmocka_unit_test(a_thread_writes_in_order),
        cmocka_unit_test(a_directory_has_one_owner),
        cmocka_unit_test(a_directory_counts_its_starts),
        cmocka_unit_test(an_identity_does_not_change),
        cmocka_unit_test(what_is_wrong_with_a_path_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
