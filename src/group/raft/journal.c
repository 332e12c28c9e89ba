// SPDX-License-Identifier: MIT
#include "group/raft/journal.h"

#include <assert.h>
#include <xxhash.h>

#define VERSION 3u
#define HEAD_BYTES 24u
#define SECTOR_BYTES 512u          /* a disk writes so many whole or not at all */
#define MAX_INDEX (UINT64_MAX / 4) /* the largest index and term, so that sums do not overflow */

static void forget_entries(struct cv_journal *journal, size_t from)
{
    while (journal->count > from)
        free(journal->entries[--journal->count].bytes);
}

void journal_free(struct cv_journal *journal)
{
    forget_entries(journal, 0);
    free(journal->entries);
    free(journal->snapshot);
    *journal = (struct cv_journal){0};
}

uint64_t journal_next(const struct cv_journal *journal)
{
    return journal->count > 0 ? journal->first + journal->count : journal->snapshot_index + 1;
}

/* ---- bodies ---- */

void journal_put_vote(struct cv_buffer *body, uint64_t term, uint64_t vote)
{
    cv_put_64(body, term);
    cv_put_64(body, vote);
}

void journal_put_entries(struct cv_buffer *body, uint64_t first, const struct cv_journal_entry *entries, size_t count)
{
    cv_put_64(body, first);
    cv_put_64(body, count);
    for (size_t i = 0; i < count; i++) {
        cv_put_64(body, entries[i].term);
        cv_put_32(body, entries[i].type);
        cv_put_32(body, entries[i].size);
        cv_put_bytes(body, entries[i].bytes, entries[i].size);
    }
}

void journal_put_cut(struct cv_buffer *body, uint64_t index)
{
    cv_put_64(body, index);
}

void journal_put_snapshot(struct cv_buffer *body, uint64_t index, uint64_t term, uint64_t trailing, const void *bytes,
                          size_t size)
{
    cv_put_64(body, index);
    cv_put_64(body, term);
    cv_put_64(body, trailing);
    cv_put_bytes(body, bytes, size);
}

void journal_put_identity(struct cv_buffer *body, const struct cv_identity *identity)
{
    cv_put_64(body, identity->group);
    cv_put_64(body, identity->former);
    cv_put_32(body, identity->directory);
    cv_put_32(body, identity->starts);
    cv_put_64(body, identity->agreed);
    for (uint32_t i = 0; i < identity->founder_count; i++) {
        cv_put_32(body, identity->founders[i].id);
        cv_put_32(body, identity->founders[i].directory);
    }
}

/* ---- playing records ---- */

/* A directory never changes its number or its group, and its counts only rise. */
static int play_identity(struct cv_journal *journal, struct cv_cursor body)
{
    const struct cv_identity *before = &journal->identity;
    struct cv_identity identity = {.group = cv_take_64(&body), .former = cv_take_64(&body)};
    identity.directory = cv_take_32(&body);
    identity.starts = cv_take_32(&body);
    identity.agreed = cv_take_64(&body);
    while (body.left && !body.broken && identity.founder_count < CV_MOST_FOUNDERS) {
        struct cv_founder *founder = &identity.founders[identity.founder_count++];
        founder->id = cv_take_32(&body);
        founder->directory = cv_take_32(&body);
    }
    if (!cv_cursor_done(&body) || identity.directory == 0 ||
        (before->directory && before->directory != identity.directory) ||
        (before->group && before->group != identity.group) || identity.starts < before->starts ||
        identity.agreed < before->agreed || identity.agreed > MAX_INDEX)
        return CV_EINPUT;
    journal->identity = identity;
    return 0;
}

static int play_header(struct cv_journal *journal, struct cv_cursor body)
{
    const uint64_t version = cv_take_64(&body), id = cv_take_64(&body);
    if (!cv_cursor_done(&body) || version < CV_JOURNAL_HIGH_FENCES || version > VERSION || id == 0 || journal->id != 0)
        return CV_EINPUT;
    journal->id = id;
    journal->version = version;
    return 0;
}

static int play_vote(struct cv_journal *journal, struct cv_cursor body)
{
    const uint64_t term = cv_take_64(&body), vote = cv_take_64(&body);
    const bool changed_mind = term == journal->term && journal->vote != 0 && vote != journal->vote;
    if (!cv_cursor_done(&body) || term < journal->term || term > MAX_INDEX || changed_mind)
        return CV_EINPUT;
    journal->term = term;
    journal->vote = vote;
    return 0;
}

static int add_entry(struct cv_journal *journal, struct cv_cursor *body)
{
    struct cv_journal_entry entry = {.term = cv_take_64(body)};
    entry.type = cv_take_32(body);
    entry.size = cv_take_32(body);
    const unsigned char *bytes = cv_take_bytes(body, entry.size);
    if (!bytes)
        return CV_EINPUT;
    if (journal->count == journal->capacity) {
        const size_t capacity = 2 * journal->capacity + 16;
        struct cv_journal_entry *grown = realloc(journal->entries, capacity * sizeof *grown);
        if (!grown)
            return CV_ENOMEM;
        journal->entries = grown;
        journal->capacity = capacity;
    }
    entry.bytes = malloc(entry.size + 1);
    if (!entry.bytes)
        return CV_ENOMEM;
    memcpy(entry.bytes, bytes, entry.size);
    journal->entries[journal->count++] = entry;
    return 0;
}

static int play_entries(struct cv_journal *journal, struct cv_cursor body)
{
    const uint64_t first = cv_take_64(&body), count = cv_take_64(&body);
    /* The kept entries of a rewritten journal begin anywhere before the end of its snapshot. */
    const bool fits = journal->count > 0 ? first == journal_next(journal) : first <= journal->snapshot_index + 1;
    if (body.broken || first == 0 || !fits)
        return CV_EINPUT;
    if (journal->count == 0)
        journal->first = first;
    for (uint64_t i = 0; i < count; i++) {
        const int error = add_entry(journal, &body);
        if (error != 0)
            return error;
    }
    return cv_cursor_done(&body) ? 0 : CV_EINPUT;
}

static int play_cut(struct cv_journal *journal, struct cv_cursor body)
{
    const uint64_t index = cv_take_64(&body);
    if (!cv_cursor_done(&body) || index < journal->first || index <= journal->snapshot_index)
        return CV_EINPUT;
    if (index < journal_next(journal))
        forget_entries(journal, (size_t)(index - journal->first));
    return 0;
}

/* Forgets the entries before `index`. */
static void shift(struct cv_journal *journal, uint64_t index)
{
    if (journal->count == 0 || index <= journal->first)
        return;
    const uint64_t before = index - journal->first;
    const size_t gone = before < journal->count ? (size_t)before : journal->count;
    for (size_t i = 0; i < gone; i++)
        free(journal->entries[i].bytes);
    memmove(journal->entries, journal->entries + gone, (journal->count - gone) * sizeof *journal->entries);
    journal->first += gone;
    journal->count -= gone;
}

static int play_snapshot(struct cv_journal *journal, struct cv_cursor body)
{
    const uint64_t index = cv_take_64(&body), term = cv_take_64(&body), trailing = cv_take_64(&body);
    if (body.broken || term == 0 || index <= journal->snapshot_index || index > MAX_INDEX)
        return CV_EINPUT;
    unsigned char *bytes = malloc(body.left + 1);
    if (!bytes)
        return CV_ENOMEM;
    memcpy(bytes, body.at, body.left);
    free(journal->snapshot);
    journal->snapshot = bytes;
    journal->snapshot_size = body.left;
    journal->snapshot_index = index;
    journal->snapshot_term = term;
    if (trailing == 0) /* the snapshot comes from another member, whose log differs */
        forget_entries(journal, 0);
    else
        shift(journal, index > trailing ? index - trailing + 1 : 1);
    return 0;
}

int journal_play(struct cv_journal *journal, enum cv_record kind, const void *body, size_t length)
{
    const struct cv_cursor cursor = cv_cursor(body, length);
    if ((journal->id == 0) != (kind == CV_RECORD_HEADER))
        return CV_EINPUT;
    switch (kind) {
    case CV_RECORD_HEADER:
        return play_header(journal, cursor);
    case CV_RECORD_VOTE:
        return play_vote(journal, cursor);
    case CV_RECORD_ENTRIES:
        return play_entries(journal, cursor);
    case CV_RECORD_CUT:
        return play_cut(journal, cursor);
    case CV_RECORD_SNAPSHOT:
        return play_snapshot(journal, cursor);
    case CV_RECORD_IDENTITY:
        return play_identity(journal, cursor);
    }
    return CV_EINPUT;
}

/* ---- files ---- */

static uint64_t head_check(uint32_t length, uint32_t kind, uint64_t offset)
{
    const uint64_t fields[] = {htole64(length), htole64(kind), htole64(offset)};
    return XXH3_64bits(fields, sizeof fields);
}

void journal_frame(struct cv_buffer *file, uint64_t offset, enum cv_record kind, const void *body, size_t length)
{
    assert(length <= UINT32_MAX);
    cv_put_32(file, (uint32_t)length);
    cv_put_32(file, kind);
    cv_put_64(file, head_check((uint32_t)length, kind, offset));
    cv_put_64(file, XXH3_64bits(body, length));
    cv_put_bytes(file, body, length);
}

/* Frames the body at the end of the file, and empties it. */
static void add_record(struct cv_buffer *file, enum cv_record kind, struct cv_buffer *body)
{
    journal_frame(file, file->length, kind, body->bytes, body->length);
    file->broken |= body->broken;
    body->length = 0;
}

void journal_write(struct cv_buffer *file, const struct cv_journal *journal)
{
    struct cv_buffer body = {0};
    cv_put_64(&body, VERSION);
    cv_put_64(&body, journal->id);
    add_record(file, CV_RECORD_HEADER, &body);
    if (journal->identity.directory) {
        journal_put_identity(&body, &journal->identity);
        add_record(file, CV_RECORD_IDENTITY, &body);
    }
    journal_put_vote(&body, journal->term, journal->vote);
    add_record(file, CV_RECORD_VOTE, &body);
    if (journal->snapshot_index > 0) {
        journal_put_snapshot(&body, journal->snapshot_index, journal->snapshot_term, 0, journal->snapshot,
                             journal->snapshot_size);
        add_record(file, CV_RECORD_SNAPSHOT, &body);
    }
    if (journal->count > 0) {
        journal_put_entries(&body, journal->first, journal->entries, journal->count);
        add_record(file, CV_RECORD_ENTRIES, &body);
    }
    free(body.bytes);
}

/* Has a sector of these bytes never been written? It reads as zeros then. */
static bool has_hole(const unsigned char *file, size_t from, size_t to)
{
    while (from < to) {
        const size_t boundary = (from / SECTOR_BYTES + 1) * SECTOR_BYTES, end = boundary < to ? boundary : to;
        while (from < end && file[from] == 0)
            from++;
        if (from == end)
            return true;
        from = boundary;
    }
    return false;
}

enum condition { SOUND, TORN, DAMAGED };

static enum condition inspect(const unsigned char *file, size_t offset, size_t length, uint32_t *size, uint32_t *kind)
{
    if (length - offset < HEAD_BYTES)
        return TORN;
    struct cv_cursor head = cv_cursor(file + offset, HEAD_BYTES);
    *size = cv_take_32(&head);
    *kind = cv_take_32(&head);
    if (cv_take_64(&head) != head_check(*size, *kind, offset))
        return has_hole(file, offset, offset + HEAD_BYTES) ? TORN : DAMAGED;
    const size_t body = offset + HEAD_BYTES;
    if (length - body < *size)
        return TORN;
    if (cv_take_64(&head) == XXH3_64bits(file + body, *size))
        return SOUND;
    const bool last = length - body == *size;
    return last && has_hole(file, offset, length) ? TORN : DAMAGED;
}

int journal_read(struct cv_journal *journal, const unsigned char *file, size_t length, size_t *sound,
                 struct cv_complaint *complaint)
{
    for (*sound = 0; *sound < length;) {
        uint32_t size = 0, kind = 0;
        switch (inspect(file, *sound, length, &size, &kind)) {
        case TORN:
            /* All first records of a file are synced before it gets its name, so none of them can be torn. */
            return *sound > 0 ? 0 : cv_complain(complaint, "is damaged at byte 0");
        case DAMAGED:
            return cv_complain(complaint, "is damaged at byte %zu", *sound);
        case SOUND:
            break;
        }
        const int error = journal_play(journal, (enum cv_record)kind, file + *sound + HEAD_BYTES, size);
        if (error == CV_EINPUT)
            return cv_complain(complaint, "makes no sense at byte %zu", *sound);
        if (error != 0)
            return error;
        *sound += HEAD_BYTES + size;
    }
    return journal->id != 0 ? 0 : cv_complain(complaint, "is empty");
}
