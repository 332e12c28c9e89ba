// SPDX-License-Identifier: MIT
#include "group/agreement_parts.h"

#include <stdio.h>

#define SNAPSHOT_THRESHOLD 32u /* entries until the log is shortened */
#define SNAPSHOT_TRAILING 16u  /* entries it keeps for members that are a little behind */

/* ---- what there is to tell ---- */

static void tell(struct cv_agreement *agreement, struct event *event)
{
    *agreement->events_end = event;
    agreement->events_end = &event->next;
}

bool cv_agreement_tell_entry(struct cv_agreement *agreement, uint64_t index, const void *bytes, size_t length)
{
    struct event *event = malloc(sizeof *event + length);
    if (!event)
        return false;
    *event = (struct event){.index = index, .length = length};
    if (length > 0)
        memcpy(event->bytes, bytes, length);
    tell(agreement, event);
    return true;
}

void cv_agreement_tell_decision(struct cv_agreement *agreement, uint64_t number, bool done)
{
    struct event *event = malloc(sizeof *event);
    if (!event) {
        cv_agreement_fail(agreement, cv_error_text(CV_ENOMEM));
        return;
    }
    *event = (struct event){.number = number, .done = done};
    tell(agreement, event);
}

static bool tell_next(struct cv_agreement *agreement)
{
    const struct cv_agreement_calls *calls = &agreement->calls;
    struct event *event = agreement->events;
    if (!event)
        return false;
    if (!(agreement->events = event->next))
        agreement->events_end = &agreement->events;
    if (event->number > 0)
        calls->decided(calls->context, event->number, event->done);
    else if (event->length > 0)
        calls->committed(calls->context, event->index, event->bytes, event->length);
    free(event);
    return true;
}

static void tell_leader(struct cv_agreement *agreement)
{
    raft_id leader = 0;
    const char *address;
    const bool leads = raft_state(&agreement->raft) == RAFT_LEADER;
    if (!agreement->failed && (!leads || agreement->ready))
        raft_leader(&agreement->raft, &leader, &address);
    if (leader == agreement->told_leader && (leader == 0 || agreement->raft.current_term == agreement->told_term))
        return;
    agreement->told_leader = leader;
    agreement->told_term = agreement->raft.current_term;
    agreement->calls.leader(agreement->calls.context, leader, agreement->told_term);
}

static void tell_failure(struct cv_agreement *agreement)
{
    if (agreement->told_failure)
        return;
    agreement->told_failure = true;
    agreement->calls.failed(agreement->calls.context, agreement->complaint.text);
}

void cv_agreement_fail(struct cv_agreement *agreement, const char *why)
{
    if (!agreement->failed)
        snprintf(agreement->complaint.text, sizeof agreement->complaint.text, "%s", why);
    agreement->failed = true;
}

/* ---- leading ---- */

static void opened(struct raft_barrier *barrier, int status)
{
    const struct request *opening = barrier->data;
    opening->agreement->ready = status == 0;
}

/*
 * libraft tells nobody that it leads. The first entry of a new leader's term commits all before it, and until it is on
 * disk nothing is sent: what it may count then is of its own term.
 */
static void notice_leadership(struct cv_agreement *agreement)
{
    struct raft *raft = &agreement->raft;
    if (raft_state(raft) == RAFT_UNAVAILABLE)
        cv_agreement_fail(agreement, raft_errmsg(raft));
    if (raft_state(raft) != RAFT_LEADER || raft->current_term == agreement->led_term)
        return;
    agreement->led_term = raft->current_term;
    agreement->ready = false;
    for (size_t i = 0; i < agreement->peer_count; i++)
        agreement->peers[i].contact_ms = 0;
    agreement->opening.barrier.data = &agreement->opening;
    const int error = raft_barrier(raft, &agreement->opening.barrier, opened);
    if (error != 0)
        cv_agreement_fail(agreement, raft_strerror(error));
    agreement->opening_ticket = agreement->last_ticket;
}

/* What a call has brought about may bring about more, as the owner may call again while it is told. */
void cv_agreement_finish(struct cv_agreement *agreement)
{
    agreement->more = true;
    if (agreement->telling)
        return;
    agreement->telling = true;
    while (agreement->more && !agreement->failed) {
        notice_leadership(agreement);
        agreement->more = cv_agreement_io_answer(agreement);
        cv_agreement_io_release(agreement);
        agreement->more |= tell_next(agreement);
        if (!agreement->more)
            tell_leader(agreement);
    }
    if (agreement->failed) {
        tell_leader(agreement);
        tell_failure(agreement);
    }
    agreement->telling = false;
}

/* ---- hearing ---- */

struct peer *cv_agreement_peer(struct cv_agreement *agreement, uint64_t id)
{
    for (size_t i = 0; i < agreement->peer_count; i++) {
        if (agreement->peers[i].id == id)
            return &agreement->peers[i];
    }
    if (agreement->peer_count == CV_RAFT_MAX_SERVERS)
        return NULL;
    struct peer *peer = &agreement->peers[agreement->peer_count++];
    *peer = (struct peer){.id = id};
    return peer;
}

/* Is there a reason not to show libraft this message? */
static bool unwelcome(const struct cv_agreement *agreement, uint64_t from, const struct raft_message *message)
{
    const struct raft *raft = &agreement->raft;
    const uint64_t now = agreement->calls.now_ms(agreement->calls.context);
    if (agreement->installing)
        return true;
    switch (message->type) {
    case RAFT_IO_APPEND_ENTRIES:
    case RAFT_IO_INSTALL_SNAPSHOT:
        /* A second leader in one term cannot be, and libraft does not check. */
        return raft->state == RAFT_LEADER && cv_raft_term(message) == raft->current_term;
    case RAFT_IO_REQUEST_VOTE:
        return message->request_vote.candidate_id != from ||
               (now < agreement->quiet_until_ms && !message->request_vote.disrupt_leader);
    default:
        return false;
    }
}

/* libraft would take entries for committed that are still on their way to the disk, and members with them. */
static void limit_commit(const struct raft *raft, struct raft_append_entries *append)
{
    const raft_index last = append->prev_log_index + append->n_entries;
    if (last <= raft_last_index((struct raft *)(uintptr_t)raft) && append->leader_commit > raft->last_stored)
        append->leader_commit = raft->last_stored;
}

int cv_agreement_hear(struct cv_agreement *agreement, uint64_t from, const void *bytes, size_t length)
{
    struct raft *raft = &agreement->raft;
    struct raft_message message;
    struct cv_cursor cursor = cv_cursor(bytes, length);
    const uint64_t stamp = cv_take_64(&cursor), echo = cv_take_64(&cursor);
    if (agreement->failed)
        return CV_EFILE;
    if (cursor.broken || from == 0 || from == agreement->options.id)
        return CV_EINPUT;
    const int error = cv_raft_decode(cursor.at, cursor.left, &message);
    if (error != 0)
        return error;
    struct peer *peer = cv_agreement_peer(agreement, from);
    if (!peer || unwelcome(agreement, from, &message)) {
        cv_raft_discard(&message);
        return 0;
    }
    const raft_term term = cv_raft_term(&message);
    const unsigned short type = message.type;
    if (type == RAFT_IO_APPEND_ENTRIES_RESULT && raft->state == RAFT_LEADER && term == raft->current_term &&
        echo > peer->contact_ms && echo <= agreement->calls.now_ms(agreement->calls.context))
        peer->contact_ms = echo;
    if (type == RAFT_IO_APPEND_ENTRIES)
        limit_commit(raft, &message.append_entries);
    char address[ADDRESS_BYTES];
    snprintf(address, sizeof address, "%llu", (unsigned long long)from);
    message.server_id = from;
    message.server_address = address;
    agreement->receive(&agreement->io, &message);
    if (raft->state == RAFT_FOLLOWER && raft->follower_state.current_leader.id == from && raft->current_term == term &&
        (type == RAFT_IO_APPEND_ENTRIES || type == RAFT_IO_INSTALL_SNAPSHOT) && stamp > peer->heard_stamp)
        peer->heard_stamp = stamp;
    cv_agreement_finish(agreement);
    return 0;
}

void cv_agreement_tick(struct cv_agreement *agreement)
{
    if (agreement->failed || agreement->installing)
        return;
    agreement->tick(&agreement->io);
    cv_agreement_finish(agreement);
}

void cv_agreement_settle(struct cv_agreement *agreement)
{
    if (agreement->failed)
        return;
    cv_agreement_io_settle(agreement);
    cv_agreement_finish(agreement);
}

bool cv_agreement_work(struct cv_agreement *agreement)
{
    return cv_disk_work(agreement->disk);
}

/* ---- opening and closing ---- */

/* The journal's checks hold, so only a program that is not ours, or another version of it, can have written nonsense.
 */
static bool readable(const struct cv_journal *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct cv_entry *entry = &found->entries[i];
        const bool change = entry->type == RAFT_CHANGE;
        if (entry->size == 0 || entry->term == 0 || entry->term > found->term ||
            (!change && entry->type != RAFT_COMMAND && entry->type != RAFT_BARRIER) ||
            (change && cv_raft_configuration(entry->bytes, entry->size, NULL) != 0) ||
            (!change && found->first + i == 1))
            return false;
    }
    return true;
}

static int open_disk(struct cv_agreement *agreement, struct cv_complaint *complaint)
{
    const struct cv_agreement_options *options = &agreement->options;
    const struct cv_disk_options disk = {
        .id = options->id,
        .directory = options->directory,
        .files = options->files,
        .threaded = options->threaded,
        .wake = agreement->calls.wake,
        .wake_data = agreement->calls.context,
    };
    struct cv_journal *found = &agreement->found;
    int error = cv_disk_open(&agreement->disk, &disk, found, complaint);
    if (error != 0)
        return error;
    /* Also if a crash has left the beginning half done. */
    const bool new = found->count == 0 && found->snapshot_index == 0 && found->term <= 1 && found->vote == 0;
    if (!new)
        agreement->quiet_until_ms = agreement->calls.now_ms(agreement->calls.context) + options->election_ms;
    if (new && options->seat_count > 0)
        error = cv_agreement_io_begin(agreement);
    if (error == 0 && !readable(found))
        return cv_complain(complaint, "%.300s/journal: holds entries that make no sense", options->directory);
    cv_put_bytes(&agreement->snapshot, found->snapshot, found->snapshot_size);
    agreement->snapshot_index = found->snapshot_index;
    agreement->snapshot_term = found->snapshot_term;
    agreement->next_index = cv_journal_next(found);
    if (error != 0)
        cv_complain(complaint, "the group: %s", cv_error_text(error));
    return error;
}

static int start(struct cv_agreement *agreement, struct cv_complaint *complaint)
{
    const struct cv_agreement_options *options = &agreement->options;
    struct raft *raft = &agreement->raft;
    raft_set_election_timeout(raft, options->election_ms);
    raft_set_heartbeat_timeout(raft, options->heartbeat_ms);
    raft_set_install_snapshot_timeout(raft, 10 * options->election_ms);
    raft_set_snapshot_threshold(raft, SNAPSHOT_THRESHOLD);
    raft_set_snapshot_trailing(raft, SNAPSHOT_TRAILING);
    raft_set_pre_vote(raft, true);
    const int error = raft_start(raft);
    if (error != 0) {
        cv_complain(complaint, "%.300s/journal: %s", options->directory, raft_errmsg(raft));
        return error == RAFT_NOMEM ? CV_ENOMEM : CV_EINPUT;
    }
    return 0;
}

static void forget(struct cv_agreement *agreement)
{
    if (agreement->disk)
        cv_disk_close(agreement->disk);
    for (struct event *event; (event = agreement->events) != NULL;) {
        agreement->events = event->next;
        free(event);
    }
    cv_agreement_io_free(agreement);
    free(agreement->last.bytes);
    free(agreement);
}

int cv_agreement_open(struct cv_agreement **opening, const struct cv_agreement_options *options,
                      const struct cv_agreement_calls *calls, struct cv_complaint *complaint)
{
    struct cv_agreement *agreement = calloc(1, sizeof *agreement);
    if (!agreement)
        return CV_ENOMEM;
    agreement->options = *options;
    agreement->calls = *calls;
    agreement->events_end = &agreement->events;
    agreement->opening.agreement = agreement;
    if (options->election_ms == 0)
        agreement->options.election_ms = CV_AGREEMENT_ELECTION_MS;
    if (options->heartbeat_ms == 0)
        agreement->options.heartbeat_ms = CV_AGREEMENT_HEARTBEAT_MS;
    cv_random_seed(&agreement->random, options->seed, options->id);
    cv_agreement_io_init(agreement);
    cv_agreement_state_init(agreement);
    int error = open_disk(agreement, complaint);
    if (error == 0) {
        char address[ADDRESS_BYTES];
        snprintf(address, sizeof address, "%llu", (unsigned long long)options->id);
        if (raft_init(&agreement->raft, &agreement->io, &agreement->fsm, options->id, address) != 0) {
            error = CV_ENOMEM;
        } else if ((error = start(agreement, complaint)) != 0) {
            cv_agreement_close(agreement);
            return error;
        }
    }
    if (error != 0) {
        forget(agreement);
        return error;
    }
    *opening = agreement;
    cv_agreement_finish(agreement);
    return 0;
}

void cv_agreement_close(struct cv_agreement *agreement)
{
    raft_close(&agreement->raft, NULL);
    forget(agreement);
}
