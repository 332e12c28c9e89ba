// SPDX-License-Identifier: MIT
#include "group/raft/agreement_io.h"

#include <assert.h>
#include <stdio.h>

#include "group/raft/agreement_guard.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"

static struct cv_agreement *agreement_of(struct raft_io *io)
{
    return io->impl;
}

/* ---- from the disk ---- */

/* The body of a snapshot: where its members were agreed on 8, length 4, members, state. */
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

bool cv_agreement_io_snapshot_fits(const struct cv_agreement *agreement)
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
           cv_agreement_state_fits(agreement, mirror->snapshot_index, cursor.at, cursor.left);
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
    if (body->broken || cv_journal_play(&agreement->mirror, kind, body->bytes, body->length) != 0)
        cv_agreement_fail(agreement, cv_error_text(CV_ENOMEM));
    return agreement->last_ticket = cv_disk_submit(agreement->disk, kind, body, tag);
}

static int put_vote(struct cv_agreement *agreement, raft_term term, raft_id vote)
{
    struct cv_buffer body = {0};
    cv_journal_put_vote(&body, term, vote);
    if (vote == agreement->options.id)
        agreement->stood_term = term;
    agreement->vote_ticket = submit(agreement, CV_RECORD_VOTE, &body, NULL);
    return 0;
}

static int set_term(struct raft_io *io, raft_term term)
{
    return put_vote(agreement_of(io), term, 0);
}

void cv_agreement_io_stand(struct cv_agreement *agreement)
{
    put_vote(agreement, agreement->mirror.term + 1, agreement->options.id);
}

/* Of the term that was set last; libraft itself believes in it only later. */
static int set_vote(struct raft_io *io, raft_id vote)
{
    struct cv_agreement *agreement = agreement_of(io);
    return put_vote(agreement, agreement->mirror.term, vote);
}

static struct flight *depart(struct cv_agreement *agreement)
{
    struct flight *flight = calloc(1, sizeof *flight);
    if (flight) {
        flight->term = agreement->mirror.term;
        *agreement->flights_end = flight;
        agreement->flights_end = &flight->next;
    }
    return flight;
}

static int append(struct raft_io *io, struct raft_io_append *request, const struct raft_entry entries[], unsigned count,
                  raft_io_append_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct cv_journal_entry *copies = calloc(count, sizeof *copies);
    struct flight *flight = copies ? depart(agreement) : NULL;
    if (!flight) {
        free(copies);
        return RAFT_NOMEM;
    }
    flight->append = request;
    flight->appended = cb;
    for (unsigned i = 0; i < count; i++) {
        flight->changes_members |= entries[i].type == RAFT_CHANGE;
        if (entries[i].type == RAFT_CHANGE)
            cv_raft_clear_padding(entries[i].buf.base, entries[i].buf.len);
        copies[i] = (struct cv_journal_entry){.term = entries[i].term,
                                              .type = entries[i].type,
                                              .size = (uint32_t)entries[i].buf.len,
                                              .bytes = entries[i].buf.base};
    }
    struct cv_buffer body = {0};
    cv_journal_put_entries(&body, cv_journal_next(&agreement->mirror), copies, count);
    free(copies);
    submit(agreement, CV_RECORD_ENTRIES, &body, flight);
    flight->last_index = cv_journal_next(&agreement->mirror) - 1;
    return 0;
}

void cv_agreement_io_identify(struct cv_agreement *agreement, const struct cv_identity *identity)
{
    struct cv_buffer body = {0};
    cv_journal_put_identity(&body, identity);
    submit(agreement, CV_RECORD_IDENTITY, &body, NULL);
}

/* What was agreed is agreed: whoever leads has lost its log, or is of another group. */
static bool goes_back(struct cv_agreement *agreement, uint64_t index)
{
    char why[160];
    if (index > agreement->mirror.identity.agreed)
        return false;
    snprintf(
        why, sizeof why,
        "the group goes back: its log is to lose entry %llu, and entry %llu was agreed; a member has lost its disk",
        (unsigned long long)index, (unsigned long long)agreement->mirror.identity.agreed);
    cv_agreement_fail(agreement, why);
    return true;
}

void cv_agreement_io_cut(struct cv_agreement *agreement, uint64_t index)
{
    struct cv_buffer body = {0};
    if (goes_back(agreement, index))
        return;
    cv_journal_put_cut(&body, index);
    submit(agreement, CV_RECORD_CUT, &body, NULL);
}

static int truncate_log(struct raft_io *io, raft_index index)
{
    cv_agreement_io_cut(agreement_of(io), index);
    return agreement_of(io)->failed ? RAFT_IOERR : 0;
}

static int snapshot_put(struct raft_io *io, unsigned trailing, struct raft_io_snapshot_put *request,
                        const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct flight *flight = depart(agreement);
    if (!flight)
        return RAFT_NOMEM;
    flight->put = request;
    flight->kept = cb;
    flight->installs = trailing == 0;
    agreement->installing += flight->installs;
    struct cv_buffer bytes = {0}, body = {0};
    write_snapshot(&bytes, snapshot);
    cv_journal_put_snapshot(&body, snapshot->index, snapshot->term, trailing, bytes.bytes, bytes.length);
    body.broken |= bytes.broken;
    free(bytes.bytes);
    submit(agreement, CV_RECORD_SNAPSHOT, &body, flight);
    flight->last_index = snapshot->index;
    return 0;
}

static int snapshot_get(struct raft_io *io, struct raft_io_snapshot_get *get, raft_io_snapshot_get_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    struct wish *wish = malloc(sizeof *wish);
    if (!wish)
        return RAFT_NOMEM;
    *wish = (struct wish){.next = agreement->wishes, .get = get, .cb = cb};
    agreement->wishes = wish;
    return 0;
}

int cv_agreement_io_begin(struct cv_agreement *agreement)
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
    cv_journal_put_entries(&body, 1, &entry, 1);
    raft_free(encoded.base);
    put_vote(agreement, entry.term, 0);
    submit(agreement, CV_RECORD_ENTRIES, &body, NULL);
    return 0;
}

/* ---- what became of it ---- */

static struct flight *land(struct cv_agreement *agreement)
{
    struct flight *flight = agreement->flights;
    if (flight && !(agreement->flights = flight->next))
        agreement->flights_end = &agreement->flights;
    return flight;
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

void cv_agreement_io_settle(struct cv_agreement *agreement)
{
    for (struct cv_disk_done done; !agreement->failed && cv_disk_take(agreement->disk, &done);) {
        if (done.error != 0) {
            cv_agreement_fail(agreement, cv_disk_complaint(agreement->disk));
            return;
        }
        agreement->done_ticket = done.ticket;
        if (done.ticket <= agreement->forgotten_ticket || !done.tag)
            continue;
        struct flight *flight = land(agreement);
        assert(flight == done.tag);
        agreement->answers_muted = flight->term != agreement->raft.current_term;
        agreement->agreed_index = flight->last_index;
        if (flight->append) {
            flight->appended(flight->append, 0);
        } else {
            agreement->installing -= flight->installs;
            flight->kept(flight->put, 0);
        }
        agreement->answers_muted = false;
        const bool check = flight->changes_members;
        free(flight);
        if (check && !knows_members(agreement))
            cv_agreement_begin_anew(agreement);
    }
}

/* ---- letters ---- */

static int send_letter(struct raft_io *io, struct raft_io_send *request, const struct raft_message *message,
                       raft_io_send_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    /* It tells the leader it has now, if any, that it has stored what an earlier one sent: not to be counted. */
    if (message->server_id == 0 || agreement->answers_muted)
        return RAFT_NOCONNECTION;
    struct letter *letter = calloc(1, sizeof *letter);
    if (!letter)
        return RAFT_NOMEM;
    letter->to = message->server_id;
    letter->request = request;
    letter->sent = cb;
    /* It tells all that it has stored; but what it has beyond this message may be of another, earlier leader. */
    struct raft_message limited = *message;
    if (message->type == RAFT_IO_APPEND_ENTRIES_RESULT &&
        message->append_entries_result.last_log_index > agreement->agreed_index &&
        message->append_entries_result.rejected == 0)
        limited.append_entries_result.last_log_index = agreement->agreed_index;
    cv_put_bytes(&letter->bytes, &(struct envelope){0}, sizeof(struct envelope));
    cv_raft_encode(&letter->bytes, &limited);
    if (letter->bytes.broken) {
        free(letter->bytes.bytes);
        free(letter);
        return RAFT_NOMEM;
    }
    *agreement->letters_end = letter;
    agreement->letters_end = &letter->next;
    return 0;
}

/* What a letter relies on, and its envelope. The moment is that of the call in which it was written. */
static void stamp(struct cv_agreement *agreement, struct letter *letter)
{
    const struct peer *peer = cv_agreement_peer(agreement, letter->to);
    const struct envelope envelope = {
        .stamp = htole64(agreement->calls.now_ms(agreement->calls.context)),
        .echo = htole64(peer ? peer->heard_stamp : 0),
        .term = htole64(agreement->raft.current_term),
        .yields = htole64(agreement->transfer_number != 0),
    };
    memcpy(letter->bytes.bytes, &envelope, sizeof envelope);
    letter->after = agreement->vote_ticket;
    if (raft_state(&agreement->raft) == RAFT_LEADER && agreement->opening_ticket > letter->after)
        letter->after = agreement->opening_ticket;
    letter->stamped = true;
}

/* libraft is answered only now, as it goes on to use a request that it has just made. */
bool cv_agreement_io_answer(struct cv_agreement *agreement)
{
    bool any = false;
    for (struct letter *letter = agreement->letters; letter; letter = letter->next) {
        if (!letter->stamped)
            stamp(agreement, letter);
        if (letter->sent) {
            const raft_io_send_cb sent = letter->sent;
            letter->sent = NULL;
            sent(letter->request, 0);
            any = true;
        }
    }
    for (struct wish *wish; (wish = agreement->wishes) != NULL; any = true) {
        struct raft_snapshot *snapshot = NULL;
        agreement->wishes = wish->next;
        int error = copy_snapshot(agreement, &snapshot);
        if (error == 0 && !snapshot)
            error = RAFT_NOTFOUND;
        wish->cb(wish->get, snapshot, error);
        free(wish);
    }
    return any;
}

void cv_agreement_io_release(struct cv_agreement *agreement)
{
    for (struct letter *letter; (letter = agreement->letters) != NULL;) {
        if (agreement->failed || !letter->stamped || letter->after > agreement->done_ticket)
            return;
        if (!(agreement->letters = letter->next))
            agreement->letters_end = &agreement->letters;
        agreement->calls.send(agreement->calls.context, letter->to, letter->bytes.bytes, letter->bytes.length);
        free(letter->bytes.bytes);
        free(letter);
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

/* Told as done: libraft, which has stopped, would take entries out of its log that are not in it any more. */
static void close_io(struct raft_io *io, raft_io_close_cb cb)
{
    struct cv_agreement *agreement = agreement_of(io);
    for (struct flight *flight; (flight = land(agreement)) != NULL;) {
        if (flight->append)
            flight->appended(flight->append, 0);
        else
            flight->kept(flight->put, RAFT_CANCELED);
        free(flight);
    }
    agreement->installing = 0;
    agreement->forgotten_ticket = agreement->last_ticket;
    for (struct letter *letter; (letter = agreement->letters) != NULL;) {
        agreement->letters = letter->next;
        if (letter->sent)
            letter->sent(letter->request, RAFT_CANCELED);
        free(letter->bytes.bytes);
        free(letter);
    }
    agreement->letters_end = &agreement->letters;
    for (struct wish *wish; (wish = agreement->wishes) != NULL;) {
        agreement->wishes = wish->next;
        wish->cb(wish->get, NULL, RAFT_CANCELED);
        free(wish);
    }
    cb(io);
}

static int bootstrap(struct raft_io *io, const struct raft_configuration *members)
{
    (void)io, (void)members;
    return RAFT_CANTBOOTSTRAP; /* cv_agreement_io_begin does it */
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

void cv_agreement_io_init(struct cv_agreement *agreement)
{
    agreement->flights_end = &agreement->flights;
    agreement->letters_end = &agreement->letters;
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
        .send = send_letter,
        .append = append,
        .truncate = truncate_log,
        .snapshot_put = snapshot_put,
        .snapshot_get = snapshot_get,
        .time = now,
        .random = draw,
    };
}
