// SPDX-License-Identifier: MIT
#include "group/raft/agreement_requests.h"

#include <stdio.h>

#include "group/raft/agreement_parts.h"

#define MAX_OUTSTANDING 8u /* few, so that a message that brings a member up to date stays small */

static int result_of(int error)
{
    switch (error) {
    case 0:
        return 0;
    case RAFT_NOMEM:
        return CV_ENOMEM;
    case RAFT_NOTLEADER:
    case RAFT_LEADERSHIPLOST:
        return CV_ENOTLEADER;
    case RAFT_CANTCHANGE:
    case RAFT_BUSY:
        return CV_EBUSY;
    default:
        return CV_EINPUT;
    }
}

/* Only a leader that knows all committed entries accepts requests. */
static int fit(const struct cv_agreement *agreement)
{
    if (agreement->failed)
        return CV_EFILE;
    return agreement->ready && agreement->raft.state == RAFT_LEADER ? 0 : CV_ENOTLEADER;
}

/* ---- entries ---- */

static void finish_request(struct request *request, int status)
{
    request->agreement->outstanding--;
    agreement_tell_decision(request->agreement, request->number, status == 0);
    free(request);
}

static void applied(struct raft_apply *apply, int status, void *result)
{
    (void)result;
    finish_request(apply->data, status);
}

static int begin_request(struct cv_agreement *agreement, struct request **request)
{
    const int error = fit(agreement);
    if (error != 0)
        return error;
    if (agreement->outstanding == MAX_OUTSTANDING)
        return CV_EBUSY;
    *request = calloc(1, sizeof **request);
    if (!*request)
        return CV_ENOMEM;
    (*request)->agreement = agreement;
    (*request)->number = ++agreement->numbers;
    return 0;
}

/* If libraft has accepted the request, it answers later. */
static int end_request(struct cv_agreement *agreement, struct request *request, int error, uint64_t *number)
{
    if (error != 0) {
        free(request);
    } else {
        agreement->outstanding++;
        *number = request->number;
    }
    agreement_finish(agreement);
    return result_of(error);
}

int cv_agreement_propose(struct cv_agreement *agreement, const void *bytes, size_t length, uint64_t *number)
{
    struct request *request;
    if (length == 0 || length > CV_AGREEMENT_ENTRY_BYTES)
        return CV_EINPUT;
    const int error = begin_request(agreement, &request);
    if (error != 0)
        return error;
    struct raft_buffer entry = {.base = raft_malloc(length), .len = length};
    if (!entry.base) {
        free(request);
        return CV_ENOMEM;
    }
    memcpy(entry.base, bytes, length);
    request->apply.data = request;
    const int refused = raft_apply(&agreement->raft, &request->apply, &entry, 1, applied);
    if (refused != 0)
        raft_free(entry.base);
    return end_request(agreement, request, refused, number);
}

/* ---- members ---- */

static void changed(struct raft_change *change, int status)
{
    struct cv_agreement *agreement = change->data;
    agreement_tell_decision(agreement, agreement->change_number, status == 0);
    agreement->change_number = 0;
}

static int begin_change(struct cv_agreement *agreement)
{
    const int error = fit(agreement);
    if (error != 0)
        return error;
    if (agreement->change_number != 0)
        return CV_EBUSY;
    agreement->change.data = agreement;
    agreement->change_number = ++agreement->numbers;
    return 0;
}

static int end_change(struct cv_agreement *agreement, int error, uint64_t *number)
{
    if (error != 0)
        agreement->change_number = 0;
    else
        *number = agreement->numbers;
    agreement_finish(agreement);
    return result_of(error);
}

int cv_agreement_add(struct cv_agreement *agreement, uint64_t id, uint64_t *number)
{
    char address[ADDRESS_BYTES];
    const int error = id == 0 ? CV_EINPUT : begin_change(agreement);
    if (error != 0)
        return error;
    snprintf(address, sizeof address, "%llu", (unsigned long long)id);
    return end_change(agreement, raft_add(&agreement->raft, &agreement->change, id, address, changed), number);
}

int cv_agreement_assign(struct cv_agreement *agreement, uint64_t id, enum cv_seat_role role, uint64_t *number)
{
    const int error = begin_change(agreement);
    if (error != 0)
        return error;
    return end_change(agreement, raft_assign(&agreement->raft, &agreement->change, id, (int)role, changed), number);
}

int cv_agreement_remove(struct cv_agreement *agreement, uint64_t id, uint64_t *number)
{
    const int error = begin_change(agreement);
    if (error != 0)
        return error;
    return end_change(agreement, raft_remove(&agreement->raft, &agreement->change, id, changed), number);
}

/* ---- leading ---- */

/* Contacts from before and during a transfer prove nothing: a member that answered then may help another to lead. */
static void end_transfer(struct cv_agreement *agreement)
{
    agreement_tell_decision(agreement, agreement->transfer_number, raft_state(&agreement->raft) != RAFT_LEADER);
    agreement->transfer_number = 0;
    agreement->counted_since_ms = agreement->calls.now_ms(agreement->calls.context);
}

static void transferred(struct raft_transfer *transfer)
{
    end_transfer(transfer->data);
}

static void taken_leave(struct raft_barrier *barrier, int status)
{
    struct request *farewell = barrier->data;
    farewell->agreement->transfer_due = status == 0;
    if (status != 0)
        end_transfer(farewell->agreement);
}

void cv_agreement_yield(struct cv_agreement *agreement)
{
    if (!agreement->transfer_due)
        return;
    agreement->transfer_due = false;
    if (raft_transfer(&agreement->raft, &agreement->transfer, agreement->transfer_to, transferred) != 0)
        end_transfer(agreement);
}

int cv_agreement_transfer(struct cv_agreement *agreement, uint64_t to, uint64_t *number)
{
    int error = fit(agreement);
    if (error == 0 && agreement->transfer_number != 0)
        error = CV_EBUSY;
    if (error != 0)
        return error;
    agreement->transfer.data = agreement;
    agreement->transfer_to = to;
    agreement->farewell.barrier.data = &agreement->farewell;
    error = raft_barrier(&agreement->raft, &agreement->farewell.barrier, taken_leave);
    if (error == 0) {
        agreement->quiet_until_ms = 0;
        agreement->transfer_number = *number = ++agreement->numbers;
    }
    agreement_finish(agreement);
    return result_of(error);
}

/* ---- questions ---- */

static int later_first(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

static uint64_t contact_with(const struct cv_agreement *agreement, raft_id id)
{
    if (id == agreement->options.id)
        return agreement->calls.now_ms(agreement->calls.context);
    for (size_t i = 0; i < agreement->peer_count; i++) {
        const struct peer *peer = &agreement->peers[i];
        if (peer->id == id && peer->contact_ms > agreement->counted_since_ms)
            return peer->contact_ms;
    }
    return 0;
}

uint64_t cv_agreement_contact_ms(const struct cv_agreement *agreement)
{
    const struct raft_configuration *members = &agreement->raft.configuration;
    uint64_t contacts[CV_RAFT_MAX_SERVERS];
    size_t voters = 0;
    for (unsigned i = 0; i < members->n && voters < CV_RAFT_MAX_SERVERS; i++) {
        if (members->servers[i].role == RAFT_VOTER)
            contacts[voters++] = contact_with(agreement, members->servers[i].id);
    }
    if (voters == 0)
        return 0;
    qsort(contacts, voters, sizeof *contacts, later_first);
    return contacts[voters / 2];
}

uint64_t cv_agreement_heard_ms(const struct cv_agreement *agreement)
{
    /* A leader that hands over has broken the silence itself. */
    return fit(agreement) != 0 || agreement->transfer_number != 0 ? 0 : cv_agreement_contact_ms(agreement);
}

struct cv_agreement_status cv_agreement_status(const struct cv_agreement *agreement)
{
    if (!agreement)
        return (struct cv_agreement_status){0};
    return (struct cv_agreement_status){
        .leader = agreement->told_leader,
        .term = agreement->raft.current_term,
        .leads = fit(agreement) == 0,
        .committed = agreement->raft.commit_index,
        .applied = agreement->raft.last_applied,
        .stored = agreement->raft.last_stored,
    };
}

void cv_agreement_disk(const struct cv_agreement *agreement, struct cv_disk_times *times)
{
    *times = cv_disk_times(agreement->disk);
}

const void *cv_agreement_last(const struct cv_agreement *agreement, size_t *length)
{
    const struct cv_journal *log = &agreement->mirror;
    for (size_t i = log->count; i-- > 0;) {
        if (log->entries[i].type == RAFT_COMMAND) {
            *length = log->entries[i].size;
            return log->entries[i].bytes;
        }
    }
    *length = agreement->last.length; /* the entry comes from the snapshot */
    return agreement->last.length > 0 ? agreement->last.bytes : NULL;
}

size_t cv_agreement_seats(const struct cv_agreement *agreement, struct cv_seat *seats, size_t limit)
{
    const struct raft_configuration *members = &agreement->raft.configuration;
    for (size_t i = 0; i < members->n && i < limit; i++)
        seats[i] = (struct cv_seat){members->servers[i].id, (enum cv_seat_role)members->servers[i].role};
    return members->n;
}
