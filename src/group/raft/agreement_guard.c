// SPDX-License-Identifier: MIT
#include "group/raft/agreement_guard.h"

#include "group/raft/agreement_parts.h"

#define MOST_ELECTIONS ((uint64_t)1 << 32) /* a member can have missed no more elections than that */
#define BARRIER_BYTES 8u

/* ---- entries ---- */

bool agreement_entry_fits(const struct cv_agreement *agreement, unsigned type, const void *bytes, size_t length)
{
    const struct cv_agreement_calls *calls = &agreement->calls;
    switch (type) {
    case RAFT_CHANGE:
        return cv_raft_configuration(bytes, length, NULL) == 0;
    case RAFT_BARRIER:
        return length > 0 && length <= BARRIER_BYTES;
    case RAFT_COMMAND:
        return length > 0 && length <= CV_AGREEMENT_ENTRY_BYTES &&
               (!calls->fits || calls->fits(calls->context, bytes, length));
    default:
        return false;
    }
}

/* A snapshot is the last entry and its index, or nothing if there was none. */
bool agreement_state_fits(const struct cv_agreement *agreement, uint64_t last_index, const void *bytes, size_t length)
{
    struct cv_cursor cursor = cv_cursor(bytes, length);
    const uint64_t index = cv_take_64(&cursor);
    if (cursor.broken || index > last_index || (index == 0) != (cursor.left == 0))
        return false;
    return index == 0 || agreement_entry_fits(agreement, RAFT_COMMAND, cursor.at, cursor.left);
}

/* The term of an entry in libraft's log, which keeps some entries longer than the journal does. */
static raft_term libraft_term_at(const struct raft_log *log, raft_index index)
{
    const size_t count = log->front <= log->back ? log->back - log->front : log->size - log->front + log->back;
    if (index <= log->offset || index > log->offset + count)
        return 0;
    return log->entries[(log->front + (size_t)(index - log->offset - 1)) % log->size].term;
}

/* The term of an entry in the log, or 0. */
static raft_term term_at(const struct cv_agreement *agreement, raft_index index)
{
    const struct cv_journal *log = &agreement->mirror;
    if (log->count > 0 && index >= log->first && index < log->first + log->count)
        return log->entries[index - log->first].term;
    return index == log->snapshot_index ? log->snapshot_term : libraft_term_at(&agreement->raft.log, index);
}

/* The first entry of the log that the message takes back, or 0. */
static raft_index first_conflict(const struct cv_agreement *agreement, const struct raft_append_entries *append)
{
    for (unsigned i = 0; i < append->n_entries; i++) {
        const raft_index index = append->prev_log_index + 1 + i;
        const raft_term term = term_at(agreement, index);
        if (term != 0 && term != append->entries[i].term)
            return index;
    }
    return 0;
}

/* ---- messages ---- */

/* Terms rise by one with each election. A hostile member could drive the term to its end, with no room for the next. */
static bool leaps(const struct cv_agreement *agreement, raft_term term)
{
    return term > agreement->raft.current_term + MOST_ELECTIONS;
}

/* The log is agreed up to this index: since the start, or, by the identity on disk, before it. */
static raft_index agreed_index(const struct cv_agreement *agreement)
{
    const raft_index before = agreement->mirror.identity.agreed;
    return agreement->raft.commit_index > before ? agreement->raft.commit_index : before;
}

static enum agreement_guard judge_append(const struct cv_agreement *agreement, uint64_t from,
                                         const struct raft_append_entries *append)
{
    const struct raft *raft = &agreement->raft;
    for (unsigned i = 0; i < append->n_entries; i++) {
        const struct raft_entry *entry = &append->entries[i];
        if (!agreement_entry_fits(agreement, entry->type, entry->buf.base, entry->buf.len))
            return GUARD_FORGED;
    }
    if (append->term < raft->current_term)
        return GUARD_WELCOME; /* libraft answers with the higher term */
    const raft_index conflict = first_conflict(agreement, append);
    const raft_term before = term_at(agreement, append->prev_log_index);
    /* No member has another entry where one was agreed. */
    if (append->prev_log_index <= agreed_index(agreement) && before != 0 && before != append->prev_log_term)
        return GUARD_FORGED;
    const bool same_term = append->term == agreement->agreed_term;
    /* A leader never changes its log. */
    if (conflict > 0 && same_term && from == agreement->agreed_with && conflict <= agreement->agreed_most)
        return GUARD_FORGED;
    /* No message changes what was agreed. */
    if (conflict > 0 && conflict <= agreed_index(agreement))
        return GUARD_FORGED;
    /* libraft counts the users of an entry by its index and term. It must not drop an entry that is on its way to the
     * disk, and then receive it again. */
    return conflict > 0 && agreement->writes ? GUARD_UNWELCOME : GUARD_WELCOME;
}

static enum agreement_guard judge_snapshot(const struct cv_agreement *agreement,
                                           const struct raft_install_snapshot *install)
{
    const struct raft *raft = &agreement->raft;
    const raft_term known = term_at(agreement, install->last_index);
    if (!agreement_state_fits(agreement, install->last_index, install->data.base, install->data.len))
        return GUARD_FORGED;
    if (install->last_index <= agreed_index(agreement) && known != 0 && known != install->last_term)
        return GUARD_FORGED;
    /* libraft answers a leader of an earlier term, and one that sends known entries. */
    if (install->term < raft->current_term || install->last_index <= raft->log.snapshot.last_index ||
        known >= install->last_term)
        return GUARD_WELCOME;
    /* The snapshot may cover entries that are on their way to the disk. */
    return agreement->writes || install->last_index <= agreement->mirror.snapshot_index ? GUARD_UNWELCOME
                                                                                        : GUARD_WELCOME;
}

/*
 * No member may vote twice in a term. libraft does: it also votes for the target of its own leadership transfer, even
 * after it has stepped down. The journal refuses a second vote, so the member would end there.
 */
static bool asks_for_second_vote(const struct cv_agreement *agreement, const struct raft_request_vote *request)
{
    const struct cv_journal *log = &agreement->mirror;
    return !request->pre_vote && request->term == log->term && log->vote != 0 && log->vote != request->candidate_id;
}

enum agreement_guard cv_agreement_guard(const struct cv_agreement *agreement, uint64_t from,
                                        const struct envelope *envelope, const struct raft_message *message)
{
    const struct raft *raft = &agreement->raft;
    const raft_term term = cv_raft_term(message);
    if (leaps(agreement, term) || leaps(agreement, envelope->term))
        return GUARD_FORGED;
    if (agreement->installing)
        return GUARD_UNWELCOME;
    switch (message->type) {
    case RAFT_IO_APPEND_ENTRIES:
    case RAFT_IO_INSTALL_SNAPSHOT:
        /* A term never has a second leader, and libraft does not check that. Nobody knows which of the two is real. */
        if (term == raft->current_term &&
            (raft->state == RAFT_LEADER || (agreement->agreed_term == term && agreement->agreed_with != from)))
            return GUARD_UNWELCOME;
        return message->type == RAFT_IO_APPEND_ENTRIES ? judge_append(agreement, from, &message->append_entries)
                                                       : judge_snapshot(agreement, &message->install_snapshot);
    case RAFT_IO_REQUEST_VOTE:
        if (message->request_vote.candidate_id != from)
            return GUARD_FORGED;
        if (asks_for_second_vote(agreement, &message->request_vote))
            return GUARD_UNWELCOME;
        return !message->request_vote.disrupt_leader &&
                       agreement->calls.now_ms(agreement->calls.context) < agreement->quiet_until_ms
                   ? GUARD_UNWELCOME
                   : GUARD_WELCOME;
    case RAFT_IO_TIMEOUT_NOW:
        /* Only a leader hands over. */
        return raft->state == RAFT_FOLLOWER && raft->follower_state.current_leader.id == from &&
                       term == raft->current_term
                   ? GUARD_WELCOME
                   : GUARD_UNWELCOME;
    default:
        return GUARD_WELCOME;
    }
}
