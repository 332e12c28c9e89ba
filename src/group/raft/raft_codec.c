// SPDX-License-Identifier: MIT
#include "group/raft/raft_codec.h"

#include <assert.h>
#include <raft.h>

#define VERSION 1u
#define MAX_NUMBER (UINT64_MAX / 4) /* the largest term and index, so that sums do not overflow */
#define MAX_ADDRESS 255u

/* ---- configurations ---- */

/* libraft's format: 1, the number of servers, and for each its id, its address and a NUL, its role; then padding to a
 * multiple of eight. */
#define CONFIGURATION_FORMAT 1u

static bool known(const raft_id *ids, size_t count, raft_id id)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

static int take_server(struct cv_cursor *cursor, raft_id *id, struct raft_configuration *configuration, bool *votes)
{
    *id = cv_take_64(cursor);
    const unsigned char *end = cursor->left > 0 ? memchr(cursor->at, 0, cursor->left) : NULL;
    const size_t length = end ? (size_t)(end - cursor->at) : 0;
    const char *address = (const char *)cv_take_bytes(cursor, length + 1);
    const uint8_t role = cv_take_8(cursor);
    if (cursor->broken || *id == 0 || length == 0 || length > MAX_ADDRESS || role > RAFT_SPARE)
        return CV_EINPUT;
    *votes |= role == RAFT_VOTER;
    if (!configuration)
        return 0;
    switch (raft_configuration_add(configuration, *id, address, role)) {
    case 0:
        return 0;
    case RAFT_NOMEM:
        return CV_ENOMEM;
    default:
        return CV_EINPUT;
    }
}

static int take_configuration(struct cv_cursor cursor, struct raft_configuration *configuration)
{
    raft_id ids[CV_RAFT_MAX_SERVERS];
    bool votes = false;
    const uint8_t format = cv_take_8(&cursor);
    const uint64_t count = cv_take_64(&cursor);
    if (cursor.broken || format != CONFIGURATION_FORMAT || count == 0 || count > CV_RAFT_MAX_SERVERS)
        return CV_EINPUT;
    for (size_t i = 0; i < count; i++) {
        const int error = take_server(&cursor, &ids[i], configuration, &votes);
        if (error != 0)
            return error;
        if (known(ids, i, ids[i]))
            return CV_EINPUT;
    }
    return cursor.left < 8 && votes ? 0 : CV_EINPUT; /* a group without voters agrees on nothing */
}

int cv_raft_configuration(const void *bytes, size_t length, struct raft_configuration *configuration)
{
    if (configuration)
        raft_configuration_init(configuration);
    const int error = take_configuration(cv_cursor(bytes, length), configuration);
    if (error != 0 && configuration)
        raft_configuration_close(configuration);
    return error;
}

/* libraft leaves the padding uninitialized. */
void cv_raft_clear_padding(void *bytes, size_t length)
{
    struct cv_cursor cursor = cv_cursor(bytes, bytes ? length : 0);
    raft_id id;
    bool votes = false;
    cv_take_8(&cursor);
    const uint64_t count = cv_take_64(&cursor);
    for (uint64_t i = 0; i < count && !cursor.broken; i++)
        if (take_server(&cursor, &id, NULL, &votes) != 0)
            return;
    if (!cursor.broken && cursor.left > 0)
        memset((unsigned char *)bytes + (length - cursor.left), 0, cursor.left);
}

/* ---- parts of messages ---- */

static void put_sized(struct cv_buffer *bytes, const struct raft_buffer *part)
{
    cv_put_32(bytes, (uint32_t)part->len);
    cv_put_bytes(bytes, part->base, part->len);
}

static const unsigned char *take_sized(struct cv_cursor *cursor, size_t *length)
{
    *length = cv_take_32(cursor);
    return cv_take_bytes(cursor, *length);
}

/* A term or an index. */
static uint64_t take_number(struct cv_cursor *cursor)
{
    const uint64_t number = cv_take_64(cursor);
    cursor->broken |= number > MAX_NUMBER;
    return number;
}

static unsigned take_up_to(struct cv_cursor *cursor, uint8_t largest)
{
    const uint8_t number = cv_take_8(cursor);
    cursor->broken |= number > largest;
    return number;
}

/* An entry has both an index and a term, or there is no entry. */
static bool both_or_none(uint64_t index, uint64_t term)
{
    return (index == 0) == (term == 0);
}

/* ---- entries ---- */

static void put_entries(struct cv_buffer *bytes, const struct raft_append_entries *append)
{
    cv_put_32(bytes, append->n_entries);
    for (unsigned i = 0; i < append->n_entries; i++) {
        cv_put_64(bytes, append->entries[i].term);
        cv_put_8(bytes, (uint8_t)append->entries[i].type);
        put_sized(bytes, &append->entries[i].buf);
    }
}

/* Reads the next entry, with its bytes in place. Terms never fall, and never exceed the leader's. */
static bool take_entry(struct cv_cursor *cursor, raft_term least, raft_term most, struct raft_entry *entry)
{
    *entry = (struct raft_entry){.term = take_number(cursor)};
    entry->type = cv_take_8(cursor);
    const unsigned char *bytes = take_sized(cursor, &entry->buf.len);
    if (!bytes || entry->buf.len == 0 || entry->term < least || entry->term > most)
        return false;
    entry->buf.base = (void *)(uintptr_t)bytes;
    if (entry->type == RAFT_CHANGE)
        return cv_raft_configuration(bytes, entry->buf.len, NULL) == 0;
    return entry->type == RAFT_COMMAND || entry->type == RAFT_BARRIER;
}

/* Are all entries of the message well formed? Also sums up their bytes. */
static bool check_entries(struct cv_cursor cursor, const struct raft_append_entries *append, size_t *total)
{
    struct raft_entry entry = {.term = append->prev_log_term > 0 ? append->prev_log_term : 1};
    *total = 0;
    for (unsigned i = 0; i < append->n_entries; i++) {
        if (!take_entry(&cursor, entry.term, append->term, &entry))
            return false;
        if (i == 0 && append->prev_log_index == 0 && entry.type != RAFT_CHANGE)
            return false; /* the very first entry must list the members */
        *total += entry.buf.len;
    }
    return cv_cursor_done(&cursor);
}

/* libraft wants the entries in an array, and their bytes in one piece. */
static int take_entries(struct cv_cursor *cursor, struct raft_append_entries *append)
{
    size_t total = 0;
    append->n_entries = cv_take_32(cursor);
    if (cursor->broken || !check_entries(*cursor, append, &total))
        return CV_EINPUT;
    if (append->n_entries == 0)
        return 0;
    append->entries = raft_calloc(append->n_entries, sizeof *append->entries);
    unsigned char *batch = raft_malloc(total);
    if (!append->entries || !batch) {
        raft_free(append->entries);
        raft_free(batch);
        return CV_ENOMEM;
    }
    unsigned char *at = batch;
    for (unsigned i = 0; i < append->n_entries; i++) {
        struct raft_entry *entry = &append->entries[i];
        const bool good = take_entry(cursor, 0, MAX_NUMBER, entry);
        assert(good && entry->buf.base);
        memcpy(at, entry->buf.base, entry->buf.len);
        entry->buf.base = at;
        entry->batch = batch;
        at += entry->buf.len;
    }
    return 0;
}

/* ---- messages ---- */

static int take_append(struct cv_cursor *cursor, struct raft_append_entries *append)
{
    append->term = take_number(cursor);
    append->prev_log_index = take_number(cursor);
    append->prev_log_term = take_number(cursor);
    append->leader_commit = take_number(cursor);
    if (cursor->broken || append->term == 0 || append->prev_log_term > append->term ||
        !both_or_none(append->prev_log_index, append->prev_log_term))
        return CV_EINPUT;
    const int error = take_entries(cursor, append);
    if (error != 0)
        return error;
    /* "min(leaderCommit, index of last new entry)", says the paper; libraft takes the last entry, new or not. */
    const raft_index last = append->prev_log_index + append->n_entries;
    if (append->leader_commit > last)
        append->leader_commit = last;
    return 0;
}

static void put_append(struct cv_buffer *bytes, const struct raft_append_entries *append)
{
    cv_put_64(bytes, append->term);
    cv_put_64(bytes, append->prev_log_index);
    cv_put_64(bytes, append->prev_log_term);
    cv_put_64(bytes, append->leader_commit);
    put_entries(bytes, append);
}

static int take_append_result(struct cv_cursor *cursor, struct raft_append_entries_result *result)
{
    result->term = take_number(cursor);
    result->rejected = take_number(cursor);
    result->last_log_index = take_number(cursor);
    return cv_cursor_done(cursor) ? 0 : CV_EINPUT;
}

static void put_append_result(struct cv_buffer *bytes, const struct raft_append_entries_result *result)
{
    cv_put_64(bytes, result->term);
    cv_put_64(bytes, result->rejected);
    cv_put_64(bytes, result->last_log_index);
}

static int take_vote(struct cv_cursor *cursor, struct raft_request_vote *vote)
{
    vote->term = take_number(cursor);
    vote->candidate_id = cv_take_64(cursor);
    vote->last_log_index = take_number(cursor);
    vote->last_log_term = take_number(cursor);
    vote->disrupt_leader = take_up_to(cursor, 1);
    vote->pre_vote = take_up_to(cursor, 1);
    const bool sensible = vote->term > 0 && vote->candidate_id > 0 && vote->last_log_term <= vote->term &&
                          both_or_none(vote->last_log_index, vote->last_log_term);
    return cv_cursor_done(cursor) && sensible ? 0 : CV_EINPUT;
}

static void put_vote(struct cv_buffer *bytes, const struct raft_request_vote *vote)
{
    cv_put_64(bytes, vote->term);
    cv_put_64(bytes, vote->candidate_id);
    cv_put_64(bytes, vote->last_log_index);
    cv_put_64(bytes, vote->last_log_term);
    cv_put_8(bytes, vote->disrupt_leader);
    cv_put_8(bytes, vote->pre_vote);
}

static int take_vote_result(struct cv_cursor *cursor, struct raft_request_vote_result *result)
{
    result->term = take_number(cursor);
    result->vote_granted = take_up_to(cursor, 1);
    result->pre_vote = (raft_tribool)take_up_to(cursor, raft_tribool_false);
    return cv_cursor_done(cursor) ? 0 : CV_EINPUT;
}

static void put_vote_result(struct cv_buffer *bytes, const struct raft_request_vote_result *result)
{
    cv_put_64(bytes, result->term);
    cv_put_8(bytes, result->vote_granted);
    cv_put_8(bytes, (uint8_t)result->pre_vote);
}

static int take_snapshot(struct cv_cursor *cursor, struct raft_install_snapshot *install)
{
    size_t members_length, data_length;
    install->term = take_number(cursor);
    install->last_index = take_number(cursor);
    install->last_term = take_number(cursor);
    install->conf_index = take_number(cursor);
    const unsigned char *members = take_sized(cursor, &members_length);
    const unsigned char *data = take_sized(cursor, &data_length);
    if (!cv_cursor_done(cursor) || install->last_index == 0 || install->last_term == 0 ||
        install->last_term > install->term || install->conf_index == 0 || install->conf_index > install->last_index)
        return CV_EINPUT;
    const int error = cv_raft_configuration(members, members_length, &install->conf);
    if (error != 0)
        return error;
    install->data = (struct raft_buffer){.base = raft_malloc(data_length + 1), .len = data_length};
    if (!install->data.base) {
        raft_configuration_close(&install->conf);
        return CV_ENOMEM;
    }
    memcpy(install->data.base, data, data_length);
    return 0;
}

static void put_snapshot(struct cv_buffer *bytes, const struct raft_install_snapshot *install)
{
    struct raft_buffer members = {0};
    bytes->broken |= raft_configuration_encode(&install->conf, &members) != 0;
    cv_raft_clear_padding(members.base, members.len);
    cv_put_64(bytes, install->term);
    cv_put_64(bytes, install->last_index);
    cv_put_64(bytes, install->last_term);
    cv_put_64(bytes, install->conf_index);
    put_sized(bytes, &members);
    put_sized(bytes, &install->data);
    raft_free(members.base);
}

static int take_timeout(struct cv_cursor *cursor, struct raft_timeout_now *timeout)
{
    timeout->term = take_number(cursor);
    timeout->last_log_index = take_number(cursor);
    timeout->last_log_term = take_number(cursor);
    const bool sensible = timeout->term > 0 && timeout->last_log_term <= timeout->term &&
                          both_or_none(timeout->last_log_index, timeout->last_log_term);
    return cv_cursor_done(cursor) && sensible ? 0 : CV_EINPUT;
}

static void put_timeout(struct cv_buffer *bytes, const struct raft_timeout_now *timeout)
{
    cv_put_64(bytes, timeout->term);
    cv_put_64(bytes, timeout->last_log_index);
    cv_put_64(bytes, timeout->last_log_term);
}

void cv_raft_encode(struct cv_buffer *bytes, const struct raft_message *message)
{
    cv_put_8(bytes, VERSION);
    cv_put_8(bytes, (uint8_t)message->type);
    switch (message->type) {
    case RAFT_IO_APPEND_ENTRIES:
        put_append(bytes, &message->append_entries);
        break;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        put_append_result(bytes, &message->append_entries_result);
        break;
    case RAFT_IO_REQUEST_VOTE:
        put_vote(bytes, &message->request_vote);
        break;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        put_vote_result(bytes, &message->request_vote_result);
        break;
    case RAFT_IO_INSTALL_SNAPSHOT:
        put_snapshot(bytes, &message->install_snapshot);
        break;
    case RAFT_IO_TIMEOUT_NOW:
        put_timeout(bytes, &message->timeout_now);
        break;
    }
}

int cv_raft_decode(const void *bytes, size_t length, struct raft_message *message)
{
    struct cv_cursor cursor = cv_cursor(bytes, length);
    memset(message, 0, sizeof *message);
    if (cv_take_8(&cursor) != VERSION)
        return CV_EINPUT;
    message->type = cv_take_8(&cursor);
    switch (message->type) {
    case RAFT_IO_APPEND_ENTRIES:
        return take_append(&cursor, &message->append_entries);
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        return take_append_result(&cursor, &message->append_entries_result);
    case RAFT_IO_REQUEST_VOTE:
        return take_vote(&cursor, &message->request_vote);
    case RAFT_IO_REQUEST_VOTE_RESULT:
        return take_vote_result(&cursor, &message->request_vote_result);
    case RAFT_IO_INSTALL_SNAPSHOT:
        return take_snapshot(&cursor, &message->install_snapshot);
    case RAFT_IO_TIMEOUT_NOW:
        return take_timeout(&cursor, &message->timeout_now);
    default:
        return CV_EINPUT;
    }
}

void cv_raft_discard(struct raft_message *message)
{
    if (message->type == RAFT_IO_APPEND_ENTRIES && message->append_entries.n_entries > 0) {
        raft_free(message->append_entries.entries[0].batch);
        raft_free(message->append_entries.entries);
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        raft_configuration_close(&message->install_snapshot.conf);
        raft_free(message->install_snapshot.data.base);
    }
}

unsigned long long cv_raft_term(const struct raft_message *message)
{
    switch (message->type) {
    case RAFT_IO_APPEND_ENTRIES:
        return message->append_entries.term;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        return message->append_entries_result.term;
    case RAFT_IO_REQUEST_VOTE:
        return message->request_vote.term;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        return message->request_vote_result.term;
    case RAFT_IO_INSTALL_SNAPSHOT:
        return message->install_snapshot.term;
    default:
        return message->timeout_now.term;
    }
}
