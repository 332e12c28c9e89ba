// SPDX-License-Identifier: MIT
/*
 * Raft's messages into a live agreement, as a hostile member would send them: bytes that are nearly right, terms and
 * indexes near those that this member has, time that passes and a disk that is slow. libraft is neither crashed nor
 * made to give up, and after a restart the journal is understood.
 */
#include <raft.h>
#include <stdio.h>

#include "fuzz/input.h"
#include "group/agreed_views.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"
#include "tests/unit/fake_files.h"

#define MEMBERS 3u
#define ME 2u

static struct cv_agreement *agreement;
static struct fake_files disk;
static uint64_t now_ms;
static uint64_t messages, welcome; /* in all runs */

/* ---- the owner ---- */

static void on_send(void *context, uint64_t to, const void *bytes, size_t length)
{
    struct raft_message message;
    (void)context, (void)to;
    assert(length > sizeof(struct envelope));
    assert(cv_raft_decode((const unsigned char *)bytes + sizeof(struct envelope), length - sizeof(struct envelope),
                          &message) == 0);
    cv_raft_discard(&message);
}

static void on_committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    (void)context, (void)index, (void)bytes;
    assert(length > 0 && length <= CV_AGREEMENT_ENTRY_BYTES);
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
    fprintf(stderr, "it gives up: %s\n", why);
    abort();
}

static void on_wake(void *context)
{
    (void)context;
}

static uint64_t on_now(void *context)
{
    (void)context;
    return now_ms;
}

/* Entries have a first byte that is not 0: so there are some that make no sense. */
static bool fits(void *context, const void *bytes, size_t length)
{
    (void)context;
    return length > 0 && *(const unsigned char *)bytes != 0;
}

static void warn(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
    abort(); /* nothing that makes no sense is ever stored */
}

/* libraft forgets a few bytes of a snapshot that it was installing when it is closed. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libraft.so";
}

static void report(void)
{
    fprintf(stderr, "messages: %llu, of which %llu were not refused\n", (unsigned long long)messages,
            (unsigned long long)welcome);
}

static void start(void)
{
    static const struct cv_seat seats[MEMBERS] = {{1, CV_SEAT_VOTER}, {2, CV_SEAT_VOTER}, {3, CV_SEAT_VOTER}};
    const struct cv_agreement_options options = {
        .id = ME, .directory = "fake", .files = &disk.files, .seats = seats, .seat_count = MEMBERS, .seed = 1};
    const struct cv_agreement_calls calls = {.send = on_send,
                                             .committed = on_committed,
                                             .leader = on_leader,
                                             .decided = on_decided,
                                             .failed = on_failed,
                                             .wake = on_wake,
                                             .now_ms = on_now,
                                             .fits = fits,
                                             .warn = warn};
    struct cv_complaint complaint = {{0}};
    if (cv_agreement_open(&agreement, &options, &calls, &complaint) != 0) {
        fprintf(stderr, "it does not start: %s\n", complaint.text);
        abort();
    }
}

/* ---- messages ---- */

static void put_members(struct input *input, struct cv_buffer *bytes)
{
    const uint32_t count = 1 + input_below(input, 4);
    cv_put_8(bytes, 1);
    cv_put_64(bytes, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t id = input_byte(input) % 8 ? i + 1 : input_number(input, 1);
        char address[ADDRESS_BYTES];
        cv_put_64(bytes, id);
        cv_put_bytes(bytes, address, (size_t)snprintf(address, sizeof address, "%llu", (unsigned long long)id) + 1);
        cv_put_8(bytes, (uint8_t)(input_byte(input) % 4));
    }
    while (bytes->length % 8)
        cv_put_8(bytes, 0);
}

static void put_entry(struct input *input, struct cv_buffer *bytes, uint64_t term)
{
    struct cv_buffer body = {0};
    const uint8_t way = input_byte(input);
    const uint8_t type = way % 16 == 0   ? RAFT_CHANGE
                         : way % 16 == 1 ? RAFT_BARRIER
                         : way % 16 == 2 ? way
                                         : RAFT_COMMAND;
    size_t length = type == RAFT_BARRIER ? 8 : 1 + input_below(input, 32);
    if (way == 255)
        length = 1000 + input_byte(input);
    if (type == RAFT_CHANGE)
        put_members(input, &body);
    for (size_t i = 0; type != RAFT_CHANGE && i < length; i++)
        cv_put_8(&body, way);
    cv_put_64(bytes, term);
    cv_put_8(bytes, type);
    cv_put_32(bytes, (uint32_t)body.length);
    cv_put_bytes(bytes, body.bytes, body.length);
    free(body.bytes);
}

static void put_append(struct input *input, struct cv_buffer *bytes, uint64_t term)
{
    const struct cv_journal *log = &agreement->mirror;
    const uint64_t last = journal_next(log) - 1;
    const uint64_t prev =
        input_byte(input) % 8 ? last - (last > 3 ? input_below(input, 4) : 0) : input_number(input, last);
    uint64_t prev_term = prev >= log->first && prev < journal_next(log) && log->count
                             ? log->entries[prev - log->first].term
                         : prev == log->snapshot_index ? log->snapshot_term
                                                       : 1;
    if (input_byte(input) % 16 == 0)
        prev_term = input_number(input, prev_term);
    const uint32_t count = input_below(input, 5);
    cv_put_64(bytes, prev);
    cv_put_64(bytes, prev_term);
    cv_put_64(bytes, input_number(input, agreement->raft.commit_index + 1));
    cv_put_32(bytes, count);
    for (uint32_t i = 0; i < count; i++)
        put_entry(input, bytes, input_byte(input) % 4 ? term : input_number(input, prev_term));
}

static void put_snapshot(struct input *input, struct cv_buffer *bytes, uint64_t term)
{
    struct cv_buffer part = {0};
    const uint64_t last = input_number(input, journal_next(&agreement->mirror) + 1);
    cv_put_64(bytes, last);
    cv_put_64(bytes, input_byte(input) % 4 ? term : input_number(input, term));
    cv_put_64(bytes, input_number(input, last));
    put_members(input, &part);
    cv_put_32(bytes, (uint32_t)part.length);
    cv_put_bytes(bytes, part.bytes, part.length);
    part.length = 0;
    cv_put_64(&part, input_number(input, last));
    for (uint32_t i = input_below(input, 8); i > 0; i--)
        cv_put_8(&part, 7);
    cv_put_32(bytes, (uint32_t)part.length);
    cv_put_bytes(bytes, part.bytes, part.length);
    free(part.bytes);
}

static void put_numbers(struct input *input, struct cv_buffer *bytes, uint32_t count, uint64_t likely)
{
    for (uint32_t i = 0; i < count; i++)
        cv_put_64(bytes, input_number(input, likely));
}

/* For whoever looks into a failure: what this member has, and what it hears. */
static void tell(uint64_t from, const unsigned char *bytes, size_t length)
{
    const struct raft *raft = &agreement->raft;
    struct raft_message message;
    fprintf(stderr, "state %d term %llu commit %llu stored %llu log %llu..%llu snapshot %llu; ", raft->state,
            raft->current_term, raft->commit_index, raft->last_stored, (unsigned long long)agreement->mirror.first,
            (unsigned long long)journal_next(&agreement->mirror) - 1,
            (unsigned long long)agreement->mirror.snapshot_index);
    if (cv_raft_decode(bytes + sizeof(struct envelope), length - sizeof(struct envelope), &message) != 0) {
        fprintf(stderr, "%llu says nothing\n", (unsigned long long)from);
        return;
    }
    const struct raft_append_entries *append = &message.append_entries;
    fprintf(stderr, "%llu says %d term %llu", (unsigned long long)from, message.type, cv_raft_term(&message));
    if (message.type == RAFT_IO_APPEND_ENTRIES)
        fprintf(stderr, " after %llu/%llu commit %llu entries %u", append->prev_log_index, append->prev_log_term,
                append->leader_commit, append->n_entries);
    for (unsigned i = 0; message.type == RAFT_IO_APPEND_ENTRIES && i < append->n_entries; i++)
        fprintf(stderr, " %llu:%d", append->entries[i].term, append->entries[i].type);
    if (message.type == RAFT_IO_INSTALL_SNAPSHOT)
        fprintf(stderr, " snapshot %llu/%llu", message.install_snapshot.last_index, message.install_snapshot.last_term);
    if (message.type == RAFT_IO_APPEND_ENTRIES_RESULT)
        fprintf(stderr, " rejected %llu last %llu", message.append_entries_result.rejected,
                message.append_entries_result.last_log_index);
    fprintf(stderr, "\n");
    cv_raft_discard(&message);
}

static void hear(struct input *input)
{
    struct cv_buffer bytes = {0};
    const uint64_t from = input_byte(input) % 16 ? (uint64_t[]){1, 3}[input_below(input, 2)] : input_number(input, 1);
    const uint64_t current = agreement->raft.current_term;
    const uint8_t way = input_byte(input);
    const uint64_t term = way % 8 < 5 ? current : way % 8 < 7 ? current + 1 : input_number(input, current);
    const uint8_t type = (uint8_t)(input_byte(input) % 16);
    cv_put_64(&bytes, input_number(input, now_ms));
    cv_put_64(&bytes, input_number(input, now_ms));
    cv_put_64(&bytes, input_byte(input) % 8 ? term : input_number(input, current));
    cv_put_64(&bytes, input_byte(input) % 4 == 1);
    cv_put_8(&bytes, input_byte(input) == 255 ? 2 : 1);
    const uint8_t types[] = {RAFT_IO_APPEND_ENTRIES,
                             RAFT_IO_APPEND_ENTRIES_RESULT,
                             RAFT_IO_REQUEST_VOTE,
                             RAFT_IO_REQUEST_VOTE_RESULT,
                             RAFT_IO_INSTALL_SNAPSHOT,
                             RAFT_IO_TIMEOUT_NOW,
                             0};
    const uint8_t chosen = type < 7 ? types[type] : RAFT_IO_APPEND_ENTRIES;
    const uint64_t last = journal_next(&agreement->mirror) - 1;
    cv_put_8(&bytes, chosen);
    cv_put_64(&bytes, term);
    switch (chosen) {
    case RAFT_IO_APPEND_ENTRIES:
        put_append(input, &bytes, term);
        break;
    case RAFT_IO_INSTALL_SNAPSHOT:
        put_snapshot(input, &bytes, term);
        break;
    case RAFT_IO_REQUEST_VOTE:
        cv_put_64(&bytes, input_byte(input) % 8 ? from : input_number(input, from));
        cv_put_64(&bytes, input_number(input, last));
        cv_put_64(&bytes, input_byte(input) % 4 ? term : input_number(input, current));
        cv_put_8(&bytes, input_byte(input) % 2);
        cv_put_8(&bytes, input_byte(input) % 2);
        break;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        cv_put_8(&bytes, input_byte(input) % 2);
        cv_put_8(&bytes, input_byte(input) % 3);
        break;
    default:
        put_numbers(input, &bytes, 2, last);
    }
    if (input_byte(input) == 0 && bytes.length > 0)
        bytes.bytes[input_raw(input) % bytes.length] = input_byte(input);
    unsigned char *copy = fuzz_copy(bytes.bytes, bytes.length);
    if (getenv("FUZZ_TELL"))
        tell(from, copy, bytes.length);
    messages++;
    welcome += cv_agreement_hear(agreement, from, copy, bytes.length) == 0;
    free(copy);
    free(bytes.bytes);
}

static void propose(struct input *input)
{
    unsigned char bytes[40];
    uint64_t number;
    memset(bytes, 1 + input_below(input, 200), sizeof bytes);
    cv_agreement_propose(agreement, bytes, 1 + input_below(input, sizeof bytes), &number);
    if (input_byte(input) % 4 == 0)
        cv_agreement_transfer(agreement, 0, &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool known;
    struct input input = {data, size};
    int restarts = 0; /* they take long */
    if (!known)
        atexit(report);
    known = true;
    now_ms = 1000;
    fake_init(&disk);
    start();
    while (input.left) {
        const uint8_t what = input_byte(&input);
        if (what % 8 == 0) {
            now_ms += input_byte(&input);
            cv_agreement_tick(agreement);
        } else if (what % 8 == 1) {
            for (uint32_t i = input_below(&input, 4); i > 0 && cv_agreement_work(agreement); i--)
                ;
            cv_agreement_settle(agreement);
        } else if (what == 2) {
            propose(&input);
        } else if (what == 10 && restarts < 2) {
            restarts++;
            cv_agreement_close(agreement);
            start();
        } else {
            hear(&input);
        }
    }
    cv_agreement_close(agreement);
    start();
    cv_agreement_close(agreement);
    fake_free(&disk);
    return 0;
}
