// SPDX-License-Identifier: MIT
#include "group/raft/agreement_io.h"

#include <assert.h>
#include <stdio.h>

#include "group/raft/agreement_guard.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"
#include "group/raft/raft_heap.h"

static struct cv_agreement *agreement_of(struct raft_io *io)
{
    return io->impl;
}

/* ---- from the disk ---- */

/* The body of a snapshot: index of the entry that set its members 8, length 4, members, state. */
static int read_snapshot(struct cv_cursor cursor, struct raft_snapshot *snapshot)
{
    snapshot->configuration_index = cv_take_64(&cursor);
    const size_t length = cv_take_32(&cursor);
    const unsigned char *members = cv_take_bytes(&cursor, length);
    if (!members)
        return RAFT_CORRUPT;
    const int error = cv_raft_configuration(members, length, &snapshot->configuration);
    if (error != 0)
        return error == CV_ENOMEM ? RAFT_NOMEM : RAFT_CORRUPT;
    snapshot->n_bufs = 1;
    snapshot->bufs = raft_malloc(sizeof *snapshot->bufs);
    void *state = raft_malloc(cursor.left + 1);
    if (!snapshot->bufs || !state) {
        raft_free(snapshot->bufs);
        raft_free(state);
        raft_configuration_close(&snapshot->configuration);
        return RAFT_NOMEM;
    }
    memcpy(state, cursor.at, cursor.left);
    snapshot->bufs[0] = (struct raft_buffer){.base = state, .len = cursor.left};
    return 0;
}

bool agreement_io_snapshot_fits(const struct cv_agreement *agreement)
{
    const struct cv_journal *mirror = &agreement->mirror;
    struct cv_cursor cursor = cv_cursor(mirror->snapshot, mirror->snapshot_size);
    if (mirror->snapshot_index == 0)
        return true;
    const uint64_t members_index = cv_take_64(&cursor);
    const size_t length = cv_take_32(&cursor);
    const unsigned char *members = cv_take_bytes(&cursor, length);
    return members && members_index > 0 && members_index <= mirror->snapshot_index &&
           mirror->snapshot_term <= mirror->term && cv_raft_configuration(members, length, NULL) == 0 &&
           agreement_state_fits(agreement, mirror->snapshot_index, cursor.at, cursor.left);
}

static void write_snapshot(struct cv_buffer *body, const struct raft_snapshot *snapshot)
{
    struct raft_buffer members = {0};
    body->broken |= raft_configuration_encode(&snapshot->configuration, &members) != 0;
    cv_raft_clear_padding(members.base, members.len);
    cv_put_64(body, snapshot->configuration_index);
    cv_put_32(body, (uint32_t)members.len);
    cv_put_bytes(body, members.base, members.len);
    for (unsigned i = 0; i < snapshot->n_bufs; i++)
        cv_put_bytes(body, snapshot->bufs[i].base, snapshot->bufs[i].len);
    raft_free(members.base);
}

/* A copy of the last snapshot for libraft, or NULL if there is none. */
static int copy_snapshot(const struct cv_agreement *agreement, struct raft_snapshot **copy)
{
    const struct cv_journal *mirror = &agreement->mirror;
    *copy = NULL;
    if (mirror->snapshot_index == 0)
        return 0;
    struct raft_snapshot *snapshot = raft_calloc(1, sizeof *snapshot);
    if (!snapshot)
        return RAFT_NOMEM;
    snapshot->index = mirror->snapshot_index;
    snapshot->term = mirror->snapshot_term;
    const int error = read_snapshot(cv_cursor(mirror->snapshot, mirror->snapshot_size), snapshot);
    if (error != 0)
        raft_free(snapshot);
    else
        *copy = snapshot;
    return error;
}

static int copy_entries(const struct cv_journal *mirror, struct raft_entry **entries)
{
    *entries = NULL;
    if (mirror->count == 0)
        return 0;
    *entries = raft_calloc(mirror->count, sizeof **entries);
    for (size_t i = 0; i < mirror->count; i++) {
        const struct cv_journal_entry *entry = &mirror->entries[i];
        void *bytes = *entries ? raft_malloc(entry->size + 1u) : NULL;
        if (!bytes) {
            while (i-- > 0)
                raft_free((*entries)[i].buf.base);
            raft_free(*entries);
            return RAFT_NOMEM;
        }
        memcpy(bytes, entry->bytes, entry->size);
        (*entries)[i] = (struct raft_entry){
            .term = entry->term, .type = (unsigned short)entry->type, .buf = {.base = bytes, .len = entry->size}};
    }
    return 0;
}

static int load(struct raft_io *io, raft_term *term, raft_id *vote, struct raft_snapshot **snapshot, raft_index *start,
                struct raft_entry *entries[], size_t *count)
{
    struct cv_agreement *agreement = agreement_of(io);
    const struct cv_journal *mirror = &agreement->mirror;
    *term = mirror->term;
    *vote = mirror->vote;
    *start = mirror->count > 0 ? mirror->first : mirror->snapshot_index + 1;
    *count = mirror->count;
    int error = copy_snapshot(agreement, snapshot);
    if (error == 0)
        error = copy_entries(mirror, entries);
    return error;
}

/* ---- to the disk ---- */

static uint64_t submit(struct cv_agreement *agreement, enum cv_record kind, struct cv_buffer *body, void *tag)
{
    if (body->broken || journal_play(&agreement->mirror, kind, body->bytes, body->length) != 0)
        agreement_fail(agreement, cv_error_text(CV_ENOMEM));
    return agreement->last_ticket = disk_submit(agreement->disk, kind, body, tag);
}

static int put_vote(struct cv_agreement *agreement, raft_term term, raft_id vote)
{
    struct cv_buffer body = {0};
    journal_put_vote(&body, term, vote);
    if (vote == agreement->options.id)
        agreement->stood_term = term;
    agreement->vote_ticket = submit(agreement, CV_RECORD_VOTE, &body, NULL);
    return 0;
}

static int set_term(struct raft_io *io, raft_term term)
{
    return put_vote(agreement_of(io), term, 0);
}

void agreement_io_stand(struct cv_agreement *agreement)
{
    put_vote(agreement, agreement->mirror.term + 1, agreement->options.id);
}

/* A vote in the term that was set last. libraft adopts that term itself only later. */
static int set_vote(struct raft_io *io, raft_id vote)
{
    struct cv_agreement *agreement = agreement_of(io);
    return put_vote(agreement, agreement->mirror.term, vote);
}

static struct disk_write *begin_write(struct cv_agreement *agreement)
{
    struct disk_write *write = calloc(1, sizeof *write);
    if (write) {
        write->term = agreement->mirror.term;
        *agreement->writes_end = write;
        agreement->writes_end = &write->next;
    }
    return write;
}

static int append(struct raft_io *io, struct raft_io_append *request, const struct raft_entry entries[], unsigned count,
                  raft_io_append_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct cv_journal_entry *copies = calloc(count, sizeof *copies);
    struct disk_write *write = copies ? begin_write(agreement) : NULL;
    if (!write) {
        free(copies);
        return RAFT_NOMEM;
    }
    write->append = request;
    write->appended = cb;
    for (unsigned i = 0; i < count; i++) {
        write->changes_members |= entries[i].type == RAFT_CHANGE;
        if (entries[i].type == RAFT_CHANGE)
            cv_raft_clear_padding(entries[i].buf.base, entries[i].buf.len);
        copies[i] = (struct cv_journal_entry){.term = entries[i].term,
                                              .type = entries[i].type,
                                              .size = (uint32_t)entries[i].buf.len,
                                              .bytes = entries[i].buf.base};
    }
    struct cv_buffer body = {0};
    journal_put_entries(&body, journal_next(&agreement->mirror), copies, count);
    free(copies);
    submit(agreement, CV_RECORD_ENTRIES, &body, write);
    write->last_index = journal_next(&agreement->mirror) - 1;
    return 0;
}

void agreement_io_identify(struct cv_agreement *agreement, const struct cv_identity *identity)
{
    struct cv_buffer body = {0};
    journal_put_identity(&body, identity);
    submit(agreement, CV_RECORD_IDENTITY, &body, NULL);
}

/* Would that drop an agreed entry? Then the leader has lost its log, or is of another group. */
static bool goes_back(struct cv_agreement *agreement, uint64_t index)
{
    char why[160];
    if (index > agreement->mirror.identity.agreed)
        return false;
    snprintf(
        why, sizeof why,
        "the group goes back: its log is to lose entry %llu, and entry %llu was agreed; a member has lost its disk",
        (unsigned long long)index, (unsigned long long)agreement->mirror.identity.agreed);
    agreement_fail(agreement, why);
    return true;
}

void agreement_io_cut(struct cv_agreement *agreement, uint64_t index)
{
    struct cv_buffer body = {0};
    if (goes_back(agreement, index))
        return;
    journal_put_cut(&body, index);
    submit(agreement, CV_RECORD_CUT, &body, NULL);
}

static int truncate_log(struct raft_io *io, raft_index index)
{
    agreement_io_cut(agreement_of(io), index);
    return agreement_of(io)->failed ? RAFT_IOERR : 0;
}

static int snapshot_put(struct raft_io *io, unsigned trailing, struct raft_io_snapshot_put *request,
                        const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct disk_write *write = begin_write(agreement);
    if (!write)
        return RAFT_NOMEM;
    write->put = request;
    write->kept = cb;
    write->installs = trailing == 0;
    write->parts = write->installs ? snapshot->bufs : NULL;
    agreement->installing += write->installs;
    struct cv_buffer bytes = {0}, body = {0};
    write_snapshot(&bytes, snapshot);
    journal_put_snapshot(&body, snapshot->index, snapshot->term, trailing, bytes.bytes, bytes.length);
    body.broken |= bytes.broken;
    free(bytes.bytes);
    submit(agreement, CV_RECORD_SNAPSHOT, &body, write);
    write->last_index = snapshot->index;
    return 0;
}

static int snapshot_get(struct raft_io *io, struct raft_io_snapshot_get *get, raft_io_snapshot_get_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct snapshot_read *snapshot_read = malloc(sizeof *snapshot_read);
    if (!snapshot_read)
        return RAFT_NOMEM;
    *snapshot_read = (struct snapshot_read){.next = agreement->snapshot_reads, .get = get, .cb = cb};
    agreement->snapshot_reads = snapshot_read;
    return 0;
}

int agreement_io_begin(struct cv_agreement *agreement)
{
    struct raft_configuration members;
    struct raft_buffer encoded = {0};
    int error = 0;
    raft_configuration_init(&members);
    for (size_t i = 0; i < agreement->options.seat_count && error == 0; i++) {
        const struct cv_seat *seat = &agreement->options.seats[i];
        char address[ADDRESS_BYTES];
        snprintf(address, sizeof address, "%llu", (unsigned long long)seat->id);
        error = raft_configuration_add(&members, seat->id, address, (int)seat->role);
    }
    if (error == 0)
        error = raft_configuration_encode(&members, &encoded);
    cv_raft_clear_padding(encoded.base, encoded.len);
    raft_configuration_close(&members);
    if (error != 0)
        return error == RAFT_NOMEM ? CV_ENOMEM : CV_EINPUT;
    const struct cv_journal_entry entry = {
        .term = 1, .type = RAFT_CHANGE, .size = (uint32_t)encoded.len, .bytes = encoded.base};
    struct cv_buffer body = {0};
    journal_put_entries(&body, 1, &entry, 1);
    raft_free(encoded.base);
    put_vote(agreement, entry.term, 0);
    submit(agreement, CV_RECORD_ENTRIES, &body, NULL);
    return 0;
}

/* ---- outcomes ---- */

static struct disk_write *end_write(struct cv_agreement *agreement)
{
    struct disk_write *write = agreement->writes;
    if (write && !(agreement->writes = write->next))
        agreement->writes_end = &agreement->writes;
    return write;
}

static bool same_members(const struct raft_configuration *a, const struct raft_configuration *b)
{
    if (a->n != b->n)
        return false;
    for (unsigned i = 0; i < a->n; i++) {
        if (a->servers[i].id != b->servers[i].id || a->servers[i].role != b->servers[i].role)
            return false;
    }
    return true;
}

/* libraft misses a change of members that is stored while it is a candidate. Does it know of the last one? */
static bool knows_members(const struct cv_agreement *agreement)
{
    const struct cv_journal *log = &agreement->mirror;
    struct raft_configuration members;
    size_t i = log->count;
    while (i > 0 && log->entries[i - 1].type != RAFT_CHANGE)
        i--;
    if (i == 0 || log->first + i - 1 > agreement->raft.last_stored ||
        cv_raft_configuration(log->entries[i - 1].bytes, log->entries[i - 1].size, &members) != 0)
        return true;
    const bool same = same_members(&members, &agreement->raft.configuration);
    raft_configuration_close(&members);
    return same;
}

void agreement_io_settle(struct cv_agreement *agreement)
{
    for (struct cv_disk_done done; !agreement->failed && disk_take(agreement->disk, &done);) {
        if (done.error != 0) {
            agreement_fail(agreement, disk_complaint(agreement->disk));
            return;
        }
        agreement->done_ticket = done.ticket;
        if (done.ticket <= agreement->forgotten_ticket || !done.tag)
            continue;
        struct disk_write *write = end_write(agreement);
        assert(write == done.tag);
        agreement->answers_muted = write->term != agreement->raft.current_term;
        agreement->agreed_index = write->last_index;
        if (write->append) {
            write->appended(write->append, 0);
        } else {
            agreement->installing -= write->installs;
            write->kept(write->put, 0);
        }
        agreement->answers_muted = false;
        const bool check = write->changes_members;
        free(write);
        if (check && !knows_members(agreement))
            agreement_begin_anew(agreement);
    }
}

/* ---- outgoing ---- */

static int send_outgoing(struct raft_io *io, struct raft_io_send *request, const struct raft_message *message,
                         raft_io_send_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    /* The answer would tell the present leader of stored entries of an earlier one, which must not count. */
    if (message->server_id == 0 || agreement->answers_muted)
        return RAFT_NOCONNECTION;
    struct outgoing *sending = calloc(1, sizeof *sending);
    if (!sending)
        return RAFT_NOMEM;
    sending->to = message->server_id;
    sending->request = request;
    sending->sent = cb;
    /* libraft reports all entries that are stored, but those after this message's may be of an earlier leader. */
    struct raft_message limited = *message;
    if (message->type == RAFT_IO_APPEND_ENTRIES_RESULT &&
        message->append_entries_result.last_log_index > agreement->agreed_index &&
        message->append_entries_result.rejected == 0)
        limited.append_entries_result.last_log_index = agreement->agreed_index;
    cv_put_bytes(&sending->bytes, &(struct envelope){0}, sizeof(struct envelope));
    cv_raft_encode(&sending->bytes, &limited);
    if (sending->bytes.broken) {
        free(sending->bytes.bytes);
        free(sending);
        return RAFT_NOMEM;
    }
    *agreement->outgoing_end = sending;
    agreement->outgoing_end = &sending->next;
    return 0;
}

/* Sets the ticket that a message waits for, and its envelope. Its stamp is the time of the call that wrote it. */
static void stamp(struct cv_agreement *agreement, struct outgoing *sending)
{
    const struct peer *peer = cv_agreement_peer(agreement, sending->to);
    const struct envelope envelope = {
        .stamp = htole64(agreement->calls.now_ms(agreement->calls.context)),
        .echo = htole64(peer ? peer->heard_stamp : 0),
        .term = htole64(agreement->raft.current_term),
        .yields = htole64(agreement->transfer_number != 0),
    };
    memcpy(sending->bytes.bytes, &envelope, sizeof envelope);
    sending->after = agreement->vote_ticket;
    if (raft_state(&agreement->raft) == RAFT_LEADER && agreement->opening_ticket > sending->after)
        sending->after = agreement->opening_ticket;
    sending->stamped = true;
}

/* Answers come only now, because libraft still uses a request just after it has made it. */
bool agreement_io_answer(struct cv_agreement *agreement)
{
    bool any = false;
    for (struct outgoing *sending = agreement->outgoing; sending; sending = sending->next) {
        if (!sending->stamped)
            stamp(agreement, sending);
        if (sending->sent) {
            const raft_io_send_cb sent = sending->sent;
            sending->sent = NULL;
            sent(sending->request, 0);
            any = true;
        }
    }
    for (struct snapshot_read *snapshot_read; (snapshot_read = agreement->snapshot_reads) != NULL; any = true) {
        struct raft_snapshot *snapshot = NULL;
        agreement->snapshot_reads = snapshot_read->next;
        int error = copy_snapshot(agreement, &snapshot);
        if (error == 0 && !snapshot)
            error = RAFT_NOTFOUND;
        snapshot_read->cb(snapshot_read->get, snapshot, error);
        free(snapshot_read);
    }
    return any;
}

void agreement_io_release(struct cv_agreement *agreement)
{
    for (struct outgoing *sending; (sending = agreement->outgoing) != NULL;) {
        if (agreement->failed || !sending->stamped || sending->after > agreement->done_ticket)
            return;
        if (!(agreement->outgoing = sending->next))
            agreement->outgoing_end = &agreement->outgoing;
        agreement->calls.send(agreement->calls.context, sending->to, sending->bytes.bytes, sending->bytes.length);
        free(sending->bytes.bytes);
        free(sending);
    }
}

/* ---- beginning and end ---- */

static int init(struct raft_io *io, raft_id id, const char *address)
{
    (void)io, (void)id, (void)address;
    return 0;
}

static int start(struct raft_io *io, unsigned interval_ms, raft_io_tick_cb tick, raft_io_recv_cb receive)
{
    struct cv_agreement *agreement = agreement_of(io);
    (void)interval_ms;
    agreement->tick = tick;
    agreement->receive = receive;
    return 0;
}

/* libraft 0.15 forgets the list of the parts of a snapshot that it does not come to install; later ones may not. */
static void cancel_snapshot(const struct disk_write *write)
{
    cv_raft_heap_watch(write->parts);
    write->kept(write->put, RAFT_CANCELED);
    if (!cv_raft_heap_was_freed())
        raft_free(write->parts);
}

/* Reports all writes as done: on failure the stopped libraft would remove entries that its log no longer has. */
static void close_io(struct raft_io *io, raft_io_close_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    for (struct disk_write *write; (write = end_write(agreement)) != NULL;) {
        if (write->append)
            write->appended(write->append, 0);
        else
            cancel_snapshot(write);
        free(write);
    }
    agreement->installing = 0;
    agreement->forgotten_ticket = agreement->last_ticket;
    for (struct outgoing *sending; (sending = agreement->outgoing) != NULL;) {
        agreement->outgoing = sending->next;
        if (sending->sent)
            sending->sent(sending->request, RAFT_CANCELED);
        free(sending->bytes.bytes);
        free(sending);
    }
    agreement->outgoing_end = &agreement->outgoing;
    for (struct snapshot_read *snapshot_read; (snapshot_read = agreement->snapshot_reads) != NULL;) {
        agreement->snapshot_reads = snapshot_read->next;
        snapshot_read->cb(snapshot_read->get, NULL, RAFT_CANCELED);
        free(snapshot_read);
    }
    cb(io);
}

static int bootstrap(struct raft_io *io, const struct raft_configuration *members)
{
    (void)io, (void)members;
    return RAFT_CANTBOOTSTRAP; /* agreement_io_begin does it */
}

static raft_time now(struct raft_io *io)
{
    const struct cv_agreement_calls *calls = &agreement_of(io)->calls;
    return calls->now_ms(calls->context);
}

static int draw(struct raft_io *io, int min, int max)
{
    return min + (int)cv_random_below(&agreement_of(io)->random, (uint64_t)(max > min ? max - min : 1));
}

void agreement_io_init(struct cv_agreement *agreement)
{
    agreement->writes_end = &agreement->writes;
    agreement->outgoing_end = &agreement->outgoing;
    agreement->io = (struct raft_io){
        .version = 1,
        .impl = agreement,
        .init = init,
        .close = close_io,
        .load = load,
        .start = start,
        .bootstrap = bootstrap,
        .recover = bootstrap,
        .set_term = set_term,
        .set_vote = set_vote,
        .send = send_outgoing,
        .append = append,
        .truncate = truncate_log,
        .snapshot_put = snapshot_put,
        .snapshot_get = snapshot_get,
        .time = now,
        .random = draw,
    };
}
