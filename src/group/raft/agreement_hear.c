// SPDX-License-Identifier: MIT
#include "group/raft/agreement_hear.h"

#include <stdio.h>

#include "group/raft/agreement_guard.h"
#include "group/raft/agreement_io.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/agreement_requests.h"

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

/*
 * A candidate says that the leader hands over to it. The leader may have given up the transfer since, and relies on
 * members that know so. So this member believes the candidate only if the leader's last message also says so.
 */
static bool leader_yields(struct cv_agreement *agreement)
{
    const struct raft *raft = &agreement->raft;
    if (raft->state == RAFT_LEADER)
        return agreement->transfer_number != 0;
    if (raft->state != RAFT_FOLLOWER || raft->follower_state.current_leader.id == 0)
        return false;
    const struct peer *leader = cv_agreement_peer(agreement, raft->follower_state.current_leader.id);
    return leader && leader->yields;
}

/*
 * libraft answers a pre-vote with the term of the request. So two members, one of a higher term and the other with more
 * entries, would refuse each other for ever. Here the latter learns the term from the request for a vote that it
 * refuses.
 */
static void catch_up(struct cv_agreement *agreement, struct raft_message *about, raft_term term)
{
    const struct raft *raft = &agreement->raft;
    const bool led =
        raft->state == RAFT_LEADER || (raft->state == RAFT_FOLLOWER && raft->follower_state.current_leader.id != 0);
    if (term <= raft->current_term || led ||
        agreement->calls.now_ms(agreement->calls.context) < agreement->quiet_until_ms)
        return;
    struct raft_message message = {
        .type = RAFT_IO_REQUEST_VOTE, .server_id = about->server_id, .server_address = about->server_address};
    message.request_vote = (struct raft_request_vote){.term = term, .candidate_id = about->server_id};
    agreement->receive(&agreement->io, &message);
}

/* The term of an entry in the log, or 0. */
static raft_term term_at(const struct cv_journal *log, raft_index index)
{
    if (log->count > 0 && index >= log->first && index < log->first + log->count)
        return log->entries[index - log->first].term;
    return index == log->snapshot_index ? log->snapshot_term : 0;
}

static bool changes_members(const struct cv_journal *log, raft_index from)
{
    for (raft_index index = from; index < journal_next(log); index++) {
        if (log->entries[index - log->first].type == RAFT_CHANGE)
            return true;
    }
    return false;
}

/*
 * The first entry that the message takes back, if a change of members goes with it, or 0. libraft looks for the former
 * members in its log, and crashes if they are only in a snapshot. After a restart it does not look at all.
 */
static raft_index undone_members(const struct cv_agreement *agreement, const struct raft_append_entries *append)
{
    const struct cv_journal *log = &agreement->mirror;
    if (append->term < agreement->raft.current_term || term_at(log, append->prev_log_index) != append->prev_log_term)
        return 0;
    for (unsigned i = 0; i < append->n_entries; i++) {
        const raft_index index = append->prev_log_index + 1 + i;
        const raft_term term = term_at(log, index);
        if (term != 0 && term != append->entries[i].term)
            return index > agreement->raft.commit_index && changes_members(log, index) ? index : 0;
    }
    return 0;
}

/* libraft would commit entries, and members with them, that are still on their way to the disk. */
static void limit_commit(const struct raft *raft, struct raft_append_entries *append)
{
    const raft_index last = append->prev_log_index + append->n_entries;
    if (last <= raft_last_index((struct raft *)(uintptr_t)raft) && append->leader_commit > raft->last_stored)
        append->leader_commit = raft->last_stored;
}

/*
 * By Raft a member that is asked for its vote has one, even if it has not heard of that yet: the others may need its
 * vote before they can tell it. libraft looks up its own seat before it votes, and nowhere else while it handles the
 * request. A member without a vote never gives up its leader, however long that has been silent.
 */
static void receive_as_voter(struct cv_agreement *agreement, struct raft_message *message)
{
    struct raft_server *seat = NULL;
    const struct raft_configuration *members = &agreement->raft.configuration;
    for (unsigned i = 0; i < members->n; i++) {
        if (members->servers[i].id == agreement->options.id && members->servers[i].role != RAFT_VOTER)
            seat = &members->servers[i];
    }
    if (!seat) {
        agreement->receive(&agreement->io, message);
        return;
    }
    const int role = seat->role;
    const uint64_t now_ms = agreement->calls.now_ms(agreement->calls.context);
    seat->role = RAFT_VOTER;
    if (now_ms - agreement->heard_ms >= 2 * (uint64_t)agreement->options.election_ms)
        message->request_vote.disrupt_leader = true;
    agreement->receive(&agreement->io, message);
    seat->role = role;
}

static bool is_voter(const struct raft *raft)
{
    for (unsigned i = 0; i < raft->configuration.n; i++) {
        if (raft->configuration.servers[i].id == raft->id)
            return raft->configuration.servers[i].role == RAFT_VOTER;
    }
    return false;
}

/*
 * The index of a change of members that blocks every election, or 0. libraft does not let a member stand for election
 * once it has stored a change that takes its vote away. A member that has not stored that change may still need the
 * vote of this member, whose log is longer. Raft lets such a member stand all the same (Ongaro's dissertation, 4.2.2).
 * Here it drops the change and all later entries. Nothing agreed is lost: from the change on, entries are counted
 * without this member, and a majority that has the change intersects every majority that could elect a member without
 * it.
 */
static raft_index hindrance(const struct cv_agreement *agreement, const struct raft_request_vote *vote)
{
    const struct raft *raft = &agreement->raft;
    const raft_index change = raft->configuration_uncommitted_index;
    const uint64_t silent_ms = agreement->calls.now_ms(agreement->calls.context) - agreement->heard_ms;
    const bool stuck = raft->state == RAFT_FOLLOWER && change > 0 && !is_voter(raft) && vote->last_log_index < change &&
                       silent_ms >= 4 * (uint64_t)agreement->options.election_ms;
    return stuck && !agreement->writes && change > raft->commit_index && change > agreement->mirror.identity.agreed
               ? change
               : 0;
}

/* A voter has confirmed that this member leads. The voter, and this member itself, elect no other for a while. */
static void count_contact(struct cv_agreement *agreement, struct peer *peer, uint64_t stamp)
{
    if (stamp <= peer->contact_ms || stamp > agreement->calls.now_ms(agreement->calls.context))
        return;
    peer->contact_ms = stamp;
    const uint64_t contact_ms = cv_agreement_contact_ms(agreement);
    if (contact_ms > 0 && contact_ms + agreement->options.election_ms > agreement->quiet_until_ms)
        agreement->quiet_until_ms = contact_ms + agreement->options.election_ms;
}

/*
 * A message may begin with the very first entry when that is no longer in the log. libraft would append it at the end.
 * Leaves out the known entries. False if none remain.
 */
static bool skip_known(const struct cv_agreement *agreement, struct raft_append_entries *append)
{
    const struct cv_journal *log = &agreement->mirror;
    const raft_index known = log->count > 0 ? log->first : log->snapshot_index;
    if (append->prev_log_index > 0 || append->n_entries == 0 || log->snapshot_index == 0 || known <= 1)
        return true;
    if (append->n_entries <= known)
        return false;
    append->prev_log_index = known;
    append->prev_log_term = append->entries[known - 1].term;
    append->n_entries -= (unsigned)known;
    memmove(append->entries, append->entries + known, append->n_entries * sizeof *append->entries);
    return true;
}

/* A leader was heard, and its log up to there. Is this member's log the same? One equal entry proves all before it. */
static void note_agreed(struct cv_agreement *agreement, uint64_t leader, raft_term term, raft_index last,
                        raft_term last_term)
{
    if (agreement->agreed_term != term || agreement->agreed_with != leader)
        agreement->agreed_most = 0;
    agreement->agreed_term = term;
    agreement->agreed_with = leader;
    if (last > agreement->agreed_most && last_term != 0 && term_at(&agreement->mirror, last) == last_term)
        agreement->agreed_most = last;
}

static void receive(struct cv_agreement *agreement, struct peer *peer, const struct envelope *envelope,
                    struct raft_message *message)
{
    struct raft *raft = &agreement->raft;
    const raft_term term = cv_raft_term(message);
    const unsigned short type = message->type;
    raft_index last = 0;
    raft_term last_term = 0;
    if (type == RAFT_IO_APPEND_ENTRIES) {
        if (!skip_known(agreement, &message->append_entries)) {
            cv_raft_discard(message);
            return;
        }
        const raft_index lost = undone_members(agreement, &message->append_entries);
        if (lost > 0) {
            agreement_io_cut(agreement, lost);
            agreement_begin_anew(agreement);
        }
        const struct raft_append_entries *append = &message->append_entries;
        limit_commit(raft, &message->append_entries);
        last = append->prev_log_index + append->n_entries;
        last_term = append->n_entries > 0 ? append->entries[append->n_entries - 1].term : append->prev_log_term;
        agreement->agreed_index = last;
    } else if (type == RAFT_IO_APPEND_ENTRIES_RESULT && raft->state == RAFT_LEADER && term == raft->current_term) {
        count_contact(agreement, peer, envelope->echo);
    }
    if (type == RAFT_IO_INSTALL_SNAPSHOT)
        agreement->agreed_index = message->install_snapshot.last_index;
    if (agreement->failed) {
        cv_raft_discard(message);
        return;
    }
    const raft_index forgotten = type == RAFT_IO_REQUEST_VOTE ? hindrance(agreement, &message->request_vote) : 0;
    if (forgotten > 0) {
        agreement_io_cut(agreement, forgotten);
        agreement_begin_anew(agreement);
        cv_raft_discard(message);
        return;
    }
    catch_up(agreement, message, envelope->term);
    if (type == RAFT_IO_REQUEST_VOTE)
        receive_as_voter(agreement, message);
    else
        agreement->receive(&agreement->io, message);
    if (raft->state != RAFT_FOLLOWER || raft->follower_state.current_leader.id != peer->id ||
        raft->current_term != term || (type != RAFT_IO_APPEND_ENTRIES && type != RAFT_IO_INSTALL_SNAPSHOT))
        return;
    note_agreed(agreement, peer->id, term, last, last_term);
    agreement->heard_term = term;
    agreement->heard_ms = agreement->calls.now_ms(agreement->calls.context);
    if (envelope->stamp >= peer->heard_stamp) {
        peer->heard_stamp = envelope->stamp;
        peer->yields = envelope->yields;
    }
}

int cv_agreement_hear(struct cv_agreement *agreement, uint64_t from, const void *bytes, size_t length)
{
    struct raft_message message;
    struct cv_cursor cursor = cv_cursor(bytes, length);
    struct envelope envelope;
    envelope.stamp = cv_take_64(&cursor);
    envelope.echo = cv_take_64(&cursor);
    envelope.term = cv_take_64(&cursor);
    envelope.yields = cv_take_64(&cursor);
    if (agreement->failed)
        return CV_EFILE;
    if (cursor.broken || from == 0 || from == agreement->options.id || envelope.yields > 1 ||
        envelope.term > UINT64_MAX / 4)
        return CV_EINPUT;
    const int error = cv_raft_decode(cursor.at, cursor.left, &message);
    if (error != 0)
        return error;
    if (message.type == RAFT_IO_REQUEST_VOTE)
        message.request_vote.disrupt_leader &= leader_yields(agreement);
    const enum agreement_guard guard = cv_agreement_guard(agreement, from, &envelope, &message);
    struct peer *peer = guard == GUARD_WELCOME ? cv_agreement_peer(agreement, from) : NULL;
    if (!peer) {
        cv_raft_discard(&message);
        return guard == GUARD_FORGED ? CV_EINPUT : 0;
    }
    char address[ADDRESS_BYTES];
    snprintf(address, sizeof address, "%llu", (unsigned long long)from);
    message.server_id = from;
    message.server_address = address;
    receive(agreement, peer, &envelope, &message);
    agreement_finish(agreement);
    return 0;
}
