// SPDX-License-Identifier: MIT
#include "group/raft/agreement_guard.h"
#include "group/raft/agreement_io.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"
#include "group/raft/agreement_state.h"
#include "group/raft/raft_heap.h"

#include <stdio.h>

#define SNAPSHOT_THRESHOLD 16u /* entries after which a snapshot shortens the log */
#define SNAPSHOT_TRAILING 10u  /* entries that the log keeps for members that lag a little */

/* ---- events for the owner ---- */

static void tell(struct cv_agreement *agreement, struct agreement_event *event)
{
    *agreement->events_end = event;
    agreement->events_end = &event->next;
}

bool agreement_tell_entry(struct cv_agreement *agreement, uint64_t index, const void *bytes, size_t length)
{
    struct agreement_event *event = malloc(sizeof *event + length);
    if (!event)
        return false;
    *event = (struct agreement_event){.index = index, .length = length};
    if (length > 0)
        memcpy(event->bytes, bytes, length);
    tell(agreement, event);
    return true;
}

void agreement_tell_decision(struct cv_agreement *agreement, uint64_t number, bool done)
{
    struct agreement_event *event = malloc(sizeof *event);
    if (!event) {
        agreement_fail(agreement, cv_error_text(CV_ENOMEM));
        return;
    }
    *event = (struct agreement_event){.number = number, .done = done};
    tell(agreement, event);
}

static bool tell_next(struct cv_agreement *agreement)
{
    const struct cv_agreement_calls *calls = &agreement->calls;
    struct agreement_event *event = agreement->events;
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
    /* libraft lets a follower keep its leader when it goes to a higher term. */
    const bool known = leads ? agreement->ready : agreement->heard_term == agreement->raft.current_term;
    if (!agreement->failed && known)
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

void agreement_fail(struct cv_agreement *agreement, const char *why)
{
    if (!agreement->failed)
        snprintf(agreement->complaint.text, sizeof agreement->complaint.text, "%s",
                 *why ? why : "the log cannot go on, and libraft does not say why");
    agreement->failed = true;
}

/* ---- libraft ---- */

static void set_pace(struct cv_agreement *agreement)
{
    const struct cv_agreement_options *options = &agreement->options;
    struct raft *raft = &agreement->raft;
    raft_set_election_timeout(raft, options->election_ms);
    raft_set_heartbeat_timeout(raft, options->heartbeat_ms);
    raft_set_install_snapshot_timeout(raft, 10 * options->election_ms);
    raft_set_max_catch_up_round_duration(raft, 10 * options->election_ms);
}

static int launch(struct cv_agreement *agreement)
{
    const struct cv_agreement_options *options = &agreement->options;
    struct raft *raft = &agreement->raft;
    char address[ADDRESS_BYTES];
    cv_raft_heap_begin();
    snprintf(address, sizeof address, "%llu", (unsigned long long)options->id);
    int error = raft_init(raft, &agreement->io, &agreement->fsm, options->id, address);
    if (error != 0) {
        agreement_fail(agreement, raft_strerror(error));
        return CV_ENOMEM;
    }
    set_pace(agreement);
    raft_set_snapshot_threshold(raft, SNAPSHOT_THRESHOLD);
    raft_set_snapshot_trailing(raft, SNAPSHOT_TRAILING);
    raft_set_pre_vote(raft, true);
    error = raft_start(raft);
    agreement->launched = error == 0;
    if (error == 0)
        return 0;
    agreement_fail(agreement, raft_strerror(error));
    raft_close(raft, NULL);
    return error == RAFT_NOMEM ? CV_ENOMEM : CV_EINPUT;
}

/* libraft now takes entries on their way to the disk for stored, so no message leaves before the disk has them. */
void agreement_begin_anew(struct cv_agreement *agreement)
{
    raft_close(&agreement->raft, NULL);
    agreement->launched = agreement->ready = false;
    agreement->vote_ticket = agreement->last_ticket;
    agreement->quiet_until_ms = agreement->calls.now_ms(agreement->calls.context) + agreement->options.election_ms;
    launch(agreement);
}

/* ---- leading ---- */

static void opened(struct raft_barrier *barrier, int status)
{
    const struct request *opening = barrier->data;
    opening->agreement->ready = status == 0;
}

/*
 * libraft does not tell us that it leads. The first entry of a new leader's term commits all before it. Nothing is sent
 * until that entry is on disk, so the leader counts only entries of its own term.
 */
static void notice_leadership(struct cv_agreement *agreement)
{
    struct raft *raft = &agreement->raft;
    if (raft_state(raft) == RAFT_UNAVAILABLE)
        agreement_fail(agreement, raft_errmsg(raft));
    if (raft_state(raft) != RAFT_LEADER || raft->current_term == agreement->led_term)
        return;
    /* libraft lets the only voter lead without an election, again and again in the same term. */
    if (raft->current_term != agreement->stood_term) {
        agreement_io_stand(agreement);
        agreement_begin_anew(agreement);
        agreement->more = true;
        return;
    }
    agreement->led_term = raft->current_term;
    agreement->ready = false;
    agreement->counted_since_ms = agreement->calls.now_ms(agreement->calls.context);
    for (size_t i = 0; i < agreement->peer_count; i++)
        agreement->peers[i].contact_ms = 0;
    agreement->opening.barrier.data = &agreement->opening;
    const int error = raft_barrier(raft, &agreement->opening.barrier, opened);
    if (error != 0)
        agreement_fail(agreement, raft_strerror(error));
    agreement->opening_ticket = agreement->last_ticket;
}

/* A callback may call the agreement again, so there may be more to do afterwards. */
void agreement_finish(struct cv_agreement *agreement)
{
    agreement->more = true;
    if (agreement->telling)
        return;
    agreement->telling = true;
    while (agreement->more && !agreement->failed) {
        agreement->more = false;
        notice_leadership(agreement);
        cv_agreement_yield(agreement);
        agreement->more |= agreement_io_answer(agreement);
        agreement_io_release(agreement);
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

/* ---- time and the disk ---- */

void cv_agreement_pace(struct cv_agreement *agreement, uint32_t election_ms, uint32_t heartbeat_ms)
{
    if (agreement->failed ||
        (agreement->options.election_ms == election_ms && agreement->options.heartbeat_ms == heartbeat_ms))
        return;
    agreement->options.election_ms = election_ms;
    agreement->options.heartbeat_ms = heartbeat_ms;
    if (agreement->launched)
        set_pace(agreement);
}

void cv_agreement_tick(struct cv_agreement *agreement)
{
    if (agreement->failed || agreement->installing)
        return;
    agreement->tick(&agreement->io);
    agreement_finish(agreement);
}

/* A leader sends at least two heartbeats per shortest election timeout, so followers hear it in time. */
static uint64_t leader_due_ms(const struct cv_agreement *agreement)
{
    const struct raft *raft = &agreement->raft;
    uint64_t due = raft->election_timer_start + raft->election_timeout;
    for (unsigned i = 0; i < raft->configuration.n; i++) {
        const struct raft_server *server = &raft->configuration.servers[i];
        const uint64_t next = raft->leader_state.progress[i].last_send + raft->election_timeout / 2;
        if (server->id != raft->id && server->role != RAFT_SPARE && next < due)
            due = next;
    }
    return due;
}

uint64_t cv_agreement_due_ms(const struct cv_agreement *agreement)
{
    const struct raft *raft = &agreement->raft;
    if (agreement->failed || agreement->installing)
        return UINT64_MAX / 1000;
    if (agreement->change_number || agreement->transfer_number || agreement->outstanding || agreement->outgoing)
        return 0;
    switch (raft->state) {
    case RAFT_LEADER:
        return agreement->ready ? leader_due_ms(agreement) : 0;
    case RAFT_FOLLOWER:
        return raft->election_timer_start + raft->follower_state.randomized_election_timeout;
    default:
        return 0;
    }
}

void cv_agreement_settle(struct cv_agreement *agreement)
{
    if (agreement->failed)
        return;
    agreement_io_settle(agreement);
    agreement_finish(agreement);
}

bool cv_agreement_work(struct cv_agreement *agreement)
{
    return disk_work(agreement->disk);
}

/* ---- the identity of the directory ---- */

const struct cv_identity *cv_agreement_identity(const struct cv_agreement *agreement)
{
    return &agreement->mirror.identity;
}

int cv_agreement_found(struct cv_agreement *agreement, uint64_t group, const struct cv_founder *founders,
                       const struct cv_seat *seats, size_t count)
{
    struct cv_identity identity = agreement->mirror.identity;
    if (agreement->failed || identity.group || agreement->mirror.count > 0 || agreement->mirror.snapshot_index > 0 ||
        count > CV_MOST_FOUNDERS)
        return CV_EINPUT;
    identity.group = group;
    identity.founder_count = founders ? (uint32_t)count : 0;
    if (founders)
        memcpy(identity.founders, founders, count * sizeof *founders);
    agreement->options.seats = seats;
    agreement->options.seat_count = count;
    agreement_io_identify(agreement, &identity);
    const int error = agreement_io_begin(agreement);
    agreement->options.seats = NULL;
    agreement->options.seat_count = 0;
    if (error == 0) {
        agreement_begin_anew(agreement);
        agreement->quiet_until_ms = 0; /* a new directory has promised silence to no leader */
        agreement_finish(agreement);
    }
    return error;
}

void cv_agreement_belong(struct cv_agreement *agreement, uint64_t group)
{
    struct cv_identity identity = agreement->mirror.identity;
    if (agreement->failed || identity.group)
        return;
    identity.group = group;
    agreement_io_identify(agreement, &identity);
    agreement->vote_ticket = agreement->last_ticket;
    agreement_finish(agreement);
}

void cv_agreement_keep(struct cv_agreement *agreement, uint64_t index)
{
    struct cv_identity identity = agreement->mirror.identity;
    if (agreement->failed || !identity.directory || index <= identity.agreed)
        return;
    identity.agreed = index;
    identity.founder_count = 0;
    agreement_io_identify(agreement, &identity);
}

/* ---- opening and closing ---- */

static bool is_readable(const struct cv_agreement *agreement, size_t i)
{
    const struct cv_journal *mirror = &agreement->mirror;
    const struct cv_journal_entry *entry = &mirror->entries[i];
    const uint64_t before = i > 0 ? entry[-1].term : 1;
    return entry->term >= before && entry->term <= mirror->term &&
           agreement_entry_fits(agreement, entry->type, entry->bytes, entry->size) &&
           (entry->type == RAFT_CHANGE || mirror->first + i != 1);
}

/*
 * The journal's checksums hold, so a nonsense entry was written as such: by another version, or by one that believed a
 * hostile member. No member stores a nonsense entry now, so neither it nor any later entry was ever agreed, and they
 * can be cut off. A nonsense snapshot cannot.
 */
static int cut_nonsense(struct cv_agreement *agreement, struct cv_complaint *complaint)
{
    struct cv_journal *mirror = &agreement->mirror;
    const char *directory = agreement->options.directory;
    size_t good = 0;
    while (good < mirror->count && is_readable(agreement, good))
        good++;
    const uint64_t index = mirror->first + good;
    if (!agreement_io_snapshot_fits(agreement) || (good < mirror->count && index <= mirror->snapshot_index))
        return cv_complain(complaint,
                           "%.300s/journal: holds what was agreed on, and makes no sense; take the node out of the "
                           "group, empty the directory, and let it join again",
                           directory);
    if (good == mirror->count)
        return 0;
    struct cv_complaint line;
    cv_complain(&line, "%.300s/journal: entry %llu makes no sense; it is cut off, with %zu after it", directory,
                (unsigned long long)index, mirror->count - good - 1);
    if (agreement->calls.warn)
        agreement->calls.warn(agreement->calls.context, line.text);
    agreement_io_cut(agreement, index);
    return agreement->failed ? cv_complain(complaint, "%.300s/journal: cannot be cut", directory) : 0;
}

static int open_disk(struct cv_agreement *agreement, struct cv_complaint *complaint)
{
    const struct cv_agreement_options *options = &agreement->options;
    const struct cv_disk_options disk = {
        .id = options->id,
        .directory = options->directory,
        .files = options->files,
        .fresh = options->fresh,
        .threaded = options->threaded,
        .wake = agreement->calls.wake,
        .wake_data = agreement->calls.context,
    };
    struct cv_journal *mirror = &agreement->mirror;
    const int error = disk_open(&agreement->disk, &disk, mirror, complaint);
    if (error != 0)
        return error;
    mirror->id = options->id;
    const int nonsense = cut_nonsense(agreement, complaint);
    if (nonsense != 0)
        return nonsense;
    /* A crash may have left the beginning half done: that counts as new, too. */
    const bool new = mirror->count == 0 && mirror->snapshot_index == 0 && mirror->term <= 1 && mirror->vote == 0;
    if (!new)
        agreement->quiet_until_ms = agreement->calls.now_ms(agreement->calls.context) + options->election_ms;
    else if (options->seat_count > 0 && agreement_io_begin(agreement) != 0)
        return cv_complain(complaint, "the members of the group are not distinct, or one has id 0");
    return 0;
}

static void forget(struct cv_agreement *agreement)
{
    if (agreement->disk)
        disk_close(agreement->disk);
    for (struct agreement_event *event; (event = agreement->events) != NULL;) {
        agreement->events = event->next;
        free(event);
    }
    journal_free(&agreement->mirror);
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
    agreement->opening.agreement = agreement->farewell.agreement = agreement;
    if (options->election_ms == 0)
        agreement->options.election_ms = CV_AGREEMENT_ELECTION_MS;
    if (options->heartbeat_ms == 0)
        agreement->options.heartbeat_ms = CV_AGREEMENT_HEARTBEAT_MS;
    cv_random_seed(&agreement->random, options->seed, options->id);
    agreement_io_init(agreement);
    agreement_state_init(agreement);
    int error = open_disk(agreement, complaint);
    if (error == 0 && (error = launch(agreement)) != 0)
        cv_complain(complaint, "%.300s/journal: %.100s", options->directory, agreement->complaint.text);
    if (error != 0) {
        forget(agreement);
        return error;
    }
    *opening = agreement;
    agreement_finish(agreement);
    return 0;
}

void cv_agreement_close(struct cv_agreement *agreement)
{
    if (agreement->launched)
        raft_close(&agreement->raft, NULL);
    forget(agreement);
}
