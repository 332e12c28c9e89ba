// SPDX-License-Identifier: MIT
/*
 * Journals and snapshots, as a disk may give them back: bytes, and records whose checks hold but whose contents nobody
 * vouches for. What is understood is written as something that is understood the same; a member starts with it, and
 * starts again, or says in one line why not.
 */
#include <raft.h>
#include <stdio.h>

#include "fuzz/input.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"
#include "tests/unit/fake_files.h"

#define ME 2u

static uint64_t journals, understood; /* in all runs */

static void on_send(void *context, uint64_t to, const void *bytes, size_t length)
{
    (void)context, (void)to, (void)bytes, (void)length;
}

static void on_committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    (void)context, (void)index, (void)bytes;
    assert(length <= CV_AGREEMENT_ENTRY_BYTES);
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
    (void)context;
    assert(*why);
}

static void on_wake(void *context)
{
    (void)context;
}

static uint64_t on_now(void *context)
{
    (void)context;
    return 1000;
}

static bool fits(void *context, const void *bytes, size_t length)
{
    (void)context;
    return length > 0 && *(const unsigned char *)bytes != 0;
}

static void report(void)
{
    fprintf(stderr, "journals: %llu, of which %llu were understood\n", (unsigned long long)journals,
            (unsigned long long)understood);
}

/* ---- records ---- */

static void put_members(struct input *input, struct cv_buffer *bytes)
{
    const uint32_t count = input_below(input, 4);
    cv_put_8(bytes, 1);
    cv_put_64(bytes, count);
    for (uint32_t i = 0; i < count; i++) {
        const char address[] = {(char)('1' + i), '\0'};
        cv_put_64(bytes, input_byte(input) % 8 ? i + 1 : input_number(input, 1));
        cv_put_bytes(bytes, address, sizeof address);
        cv_put_8(bytes, (uint8_t)(input_byte(input) % 4));
    }
    while (bytes->length % 8)
        cv_put_8(bytes, 0);
}

static void put_entries(struct input *input, struct cv_buffer *body, uint64_t next)
{
    const uint32_t count = input_below(input, 4);
    cv_put_64(body, input_number(input, next));
    cv_put_64(body, input_byte(input) % 8 ? count : input_number(input, count));
    for (uint32_t i = 0; i < count; i++) {
        struct cv_buffer entry = {0};
        const uint32_t type = input_byte(input) % 4;
        if (type == RAFT_CHANGE)
            put_members(input, &entry);
        for (uint32_t more = type == RAFT_CHANGE ? 0 : input_below(input, 20); more > 0; more--)
            cv_put_8(&entry, input_byte(input));
        cv_put_64(body, input_number(input, 2));
        cv_put_32(body, type);
        cv_put_32(body, input_byte(input) % 16 ? (uint32_t)entry.length : (uint32_t)input_number(input, 8));
        cv_put_bytes(body, entry.bytes, entry.length);
        free(entry.bytes);
    }
}

static void put_snapshot(struct input *input, struct cv_buffer *body, uint64_t next)
{
    struct cv_buffer members = {0};
    put_members(input, &members);
    cv_put_64(body, input_number(input, next));
    cv_put_64(body, input_number(input, 2));
    cv_put_64(body, input_number(input, 1));
    cv_put_64(body, input_number(input, next));
    cv_put_32(body, (uint32_t)members.length);
    cv_put_bytes(body, members.bytes, members.length);
    cv_put_64(body, input_number(input, next));
    for (uint32_t more = input_below(input, 8); more > 0; more--)
        cv_put_8(body, input_byte(input));
    free(members.bytes);
}

static void put_record(struct input *input, struct cv_buffer *file, uint64_t *next)
{
    struct cv_buffer body = {0};
    const enum cv_record kind = file->length == 0 ? CV_RECORD_HEADER : CV_RECORD_HEADER + input_byte(input) % 6;
    if (kind == CV_RECORD_HEADER) {
        cv_put_64(&body, input_byte(input) % 16 ? 1 : input_number(input, 1));
        cv_put_64(&body, input_byte(input) % 16 ? ME : input_number(input, ME));
    } else if (kind == CV_RECORD_VOTE) {
        cv_put_64(&body, input_number(input, 3));
        cv_put_64(&body, input_number(input, 1));
    } else if (kind == CV_RECORD_ENTRIES) {
        put_entries(input, &body, *next);
        (*next)++;
    } else if (kind == CV_RECORD_SNAPSHOT) {
        put_snapshot(input, &body, *next);
    } else {
        cv_put_64(&body, input_number(input, *next));
    }
    journal_frame(file, file->length, kind, body.bytes, body.length);
    free(body.bytes);
}

/* ---- what becomes of it ---- */

static void read_and_write(const unsigned char *bytes, size_t length)
{
    struct cv_journal journal = {0}, again = {0};
    struct cv_complaint complaint = {{0}};
    size_t sound = 0, all = 0;
    unsigned char *copy = fuzz_copy(bytes, length);
    const int error = journal_read(&journal, copy, length, &sound, &complaint);
    assert(sound <= length && (error != CV_EINPUT || complaint.text[0] != '\0'));
    if (error == 0) {
        struct cv_buffer file = {0};
        journal_write(&file, &journal);
        assert(!file.broken && journal_read(&again, file.bytes, file.length, &all, &complaint) == 0);
        assert(all == file.length && again.count == journal.count && again.term == journal.term &&
               again.vote == journal.vote && again.snapshot_index == journal.snapshot_index &&
               journal_next(&again) == journal_next(&journal));
        free(file.bytes);
    }
    journal_free(&journal);
    journal_free(&again);
    free(copy);
}

static bool start(struct fake_files *disk)
{
    static const struct cv_seat seats[] = {{1, CV_SEAT_VOTER}, {2, CV_SEAT_VOTER}, {3, CV_SEAT_VOTER}};
    const struct cv_agreement_options options = {
        .id = ME, .directory = "fake", .files = &disk->files, .seats = seats, .seat_count = 3, .seed = 1};
    const struct cv_agreement_calls calls = {.send = on_send,
                                             .committed = on_committed,
                                             .leader = on_leader,
                                             .decided = on_decided,
                                             .failed = on_failed,
                                             .wake = on_wake,
                                             .now_ms = on_now,
                                             .fits = fits};
    struct cv_complaint complaint = {{0}};
    struct cv_agreement *agreement;
    const int error = cv_agreement_open(&agreement, &options, &calls, &complaint);
    assert(error != CV_EINPUT || complaint.text[0] != '\0');
    if (error != 0)
        return false;
    cv_agreement_tick(agreement);
    cv_agreement_close(agreement);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool known;
    struct input input = {data, size};
    struct cv_buffer file = {0};
    struct fake_files disk;
    uint64_t next = 1;
    if (!known)
        atexit(report);
    known = true;
    journals++;
    const bool raw = input_byte(&input) == 0;
    while (input.left && !raw)
        put_record(&input, &file, &next);
    if (raw)
        cv_put_bytes(&file, input.at, input.left);
    if (!raw && file.length > 0 && size % 8 == 0) /* torn, or damaged */
        file.length = input_raw(&(struct input){data, size}) % file.length;
    read_and_write(file.bytes, file.length);
    fake_init(&disk);
    if (file.length > 0)
        disk.files.write(&disk.files, "journal", 0, file.bytes, file.length);
    if (start(&disk)) {
        understood++;
        assert(start(&disk)); /* what it has written itself it understands */
    }
    fake_free(&disk);
    free(file.bytes);
    return 0;
}
