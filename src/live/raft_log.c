// SPDX-License-Identifier: MIT
/* The log: its messages, its entries, and who has a seat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/bytes.h"
#include "live/diary.h"
#include "live/member.h"
#include "live/settings.h"

/* Raft's ids are not 0. */
uint64_t cv_raft_seat(const struct cv_raft *raft, cv_node node)
{
    return (uint64_t)raft->member->roster.ids[node] + 1;
}

cv_node cv_raft_node(const struct cv_raft *raft, uint64_t seat)
{
    for (cv_node node = 0; node < raft->member->roster.count; node++)
        if (cv_raft_seat(raft, node) == seat)
            return node;
    return CV_NOBODY;
}

/* ---- entries ---- */

static void fail(struct cv_raft *raft, const char *why)
{
    cv_member_fail(raft->member, CV_DIARY_DISK_FAILED, why);
}

/* A leader may learn that an entry is agreed before its own disk has it; what it says of it must outlast a crash. */
void cv_raft_take_entries(struct cv_raft *raft)
{
    uint32_t done = 0;
    if (raft->agreement)
        raft->member->peers.self.stored = cv_agreement_status(raft->agreement).stored;
    if (raft->taking)
        return; /* what an entry brings about may bring more */
    raft->taking = true;
    while (done < raft->backlog_count && cv_agreement_status(raft->agreement).stored >= raft->backlog[done].epoch) {
        struct cv_backlog *entry = &raft->backlog[done++];
        if (entry->proposal.seating.group != raft->member->roster.group && raft->member->roster.group) {
            fail(raft, "the log holds an entry of another group");
            break;
        }
        const bool news = entry->epoch > raft->assembly.epoch;
        struct cv_cursor rest = cv_cursor(entry->bytes, entry->rest);
        cv_raft_look(raft);
        if (news && !cv_roster_follow(raft, entry->epoch, &entry->proposal.seating, &rest))
            entry->proposal.members &= ~cv_set_of(raft->member->roster.me); /* somebody else stands there */
        cv_assembly_agreed(&raft->assembly, entry->epoch, &entry->proposal, cv_loop_boot());
        cv_agreement_keep(raft->agreement, entry->epoch);
        cv_roster_notice(raft);
    }
    raft->backlog_count -= done;
    memmove(raft->backlog, raft->backlog + done, raft->backlog_count * sizeof *raft->backlog);
    raft->taking = false;
}

/* Is it all of a proposal of this group, and the addresses of who is in it? */
static bool fits(void *context, const void *bytes, size_t length)
{
    const struct cv_raft *raft = context;
    const uint64_t group = raft->member->roster.group; /* 0: it is not known yet */
    struct cv_cursor cursor = cv_cursor(bytes, length);
    struct cv_proposal proposal;
    return cv_proposal_read(&cursor, &proposal) && (!group || proposal.seating.group == group) &&
           cv_roster_addresses_fit(cursor);
}

static void warn(void *context, const char *line)
{
    (void)context;
    cv_diary_say(CV_DIARY_LOG_CUT, "%s", line);
}

/* Every entry is the whole of what is agreed: when there are too many the last one counts. */
static void committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    struct cv_raft *raft = context;
    struct cv_proposal proposal;
    struct cv_cursor cursor = cv_cursor(bytes, length);
    if (!cv_proposal_read(&cursor, &proposal) || cursor.left > CV_AGREEMENT_ENTRY_BYTES)
        return; /* it was looked at before it was stored */
    raft->backlog_count -= raft->backlog_count == CV_RAFT_BACKLOG;
    struct cv_backlog *entry = &raft->backlog[raft->backlog_count++];
    entry->epoch = index;
    entry->proposal = proposal;
    entry->rest = cursor.left;
    memcpy(entry->bytes, cursor.at, cursor.left);
}

static void leader_changed(void *context, uint64_t leader, uint64_t term)
{
    struct cv_raft *raft = context;
    raft->leader = leader;
    raft->term = term;
    if (raft->agreement)
        cv_raft_take_entries(raft); /* who leads must know what it follows on */
    cv_raft_update(raft);
}

static void decided(void *context, uint64_t number, bool done)
{
    struct cv_raft *raft = context;
    if (number == raft->change)
        raft->change = 0;
    else if (!done)
        cv_assembly_refused(&raft->assembly);
}

static void failed(void *context, const char *why)
{
    fail(context, why);
}

static void wake(void *context)
{
    struct cv_raft *raft = context;
    uv_async_send(&raft->wake);
}

static void woken(uv_async_t *handle)
{
    struct cv_raft *raft = handle->data;
    cv_agreement_settle(raft->agreement);
    cv_raft_take_entries(raft);
}

static uint64_t now_ms(void *context)
{
    (void)context;
    return cv_loop_now() / 1000;
}

/* ---- messages ---- */

static void send_agreement(void *context, uint64_t to, const void *bytes, size_t length)
{
    const struct cv_raft *raft = context;
    unsigned char body[CV_FRAME_BYTES - 64];
    const cv_node node = cv_raft_node(raft, to);
    if (node == CV_NOBODY || length > sizeof body)
        return;
    memcpy(body, bytes, length);
    memset(body + length, 0, -length % 4);
    struct cv_frame frame = {
        .type = CV_FRAME_AGREEMENT, .clock = length, .words = (uint32_t)((length + 3) / 4), .body = body};
    cv_peers_send(&raft->member->peers, node, &frame);
}

/* ---- seats ---- */

static const struct cv_seat *find_seat(const struct cv_seat *seats, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (seats[i].id == id)
            return &seats[i];
    return NULL;
}

/* Gives that node the seat it should have. */
static void give_seat(struct cv_raft *raft, cv_node node, const struct cv_seat *seat)
{
    const uint64_t id = cv_raft_seat(raft, node);
    const bool votes = cv_set_has(raft->assembly.agreed.seating.voters, node);
    const enum cv_seat_role role = votes ? CV_SEAT_VOTER : CV_SEAT_STANDBY;
    uint64_t number;
    if (node == raft->member->roster.me && !votes)
        cv_agreement_transfer(raft->agreement, 0, &number); /* who leads keeps its vote until another does */
    else if (!seat)
        cv_agreement_add(raft->agreement, id, &raft->change);
    else if (seat->role != role && seat->role == CV_SEAT_SPARE && votes)
        cv_agreement_assign(raft->agreement, id, CV_SEAT_STANDBY, &raft->change);
    /* Who is dead cannot catch up, and would only keep the others from their seats. */
    else if (seat->role != role && !(votes && cv_set_has(raft->member->peers.suspected, node)))
        cv_agreement_assign(raft->agreement, id, role, &raft->change);
}

/* The log's seats follow the entries: whoever leads it takes and gives them, one at a time. */
void cv_raft_arrange_seats(struct cv_raft *raft)
{
    const struct cv_roster *roster = &raft->member->roster;
    struct cv_seat seats[CV_MAX_MEMBERS];
    size_t count = cv_agreement_seats(raft->agreement, seats, CV_MAX_MEMBERS);
    count = count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
    if (!raft->assembly.epoch)
        return;
    for (size_t i = 0; i < count && !raft->change; i++)
        if (cv_raft_node(raft, seats[i].id) == CV_NOBODY)
            cv_agreement_remove(raft->agreement, seats[i].id, &raft->change);
    for (cv_node node = 0; node < roster->count && !raft->change; node++)
        if (roster->ids[node] != CV_NO_ID)
            give_seat(raft, node, find_seat(seats, count, cv_raft_seat(raft, node)));
}

cv_set cv_raft_voters(const struct cv_raft *raft)
{
    const struct cv_roster *roster = &raft->member->roster;
    const cv_set agreed = raft->assembly.agreed.seating.voters;
    struct cv_seat seats[CV_MAX_MEMBERS];
    cv_set voters = 0;
    if (!raft->agreement)
        return agreed;
    size_t count = cv_agreement_seats(raft->agreement, seats, CV_MAX_MEMBERS);
    count = count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
    for (cv_node node = 0; node < roster->count; node++) {
        const bool belongs = roster->ids[node] != CV_NO_ID && cv_set_has(agreed, node);
        const struct cv_seat *seat = belongs ? find_seat(seats, count, cv_raft_seat(raft, node)) : NULL;
        if (seat && seat->role == CV_SEAT_VOTER)
            voters |= cv_set_of(node);
    }
    return voters;
}

/* ---- opening ---- */

/* What is remembered of each: the directory, of those in the next view, and which entry it surely keeps there. */
static void attend(const struct cv_raft *raft, struct cv_proposal *proposal)
{
    const struct cv_member *member = raft->member;
    const struct cv_roster *roster = &member->roster;
    for (cv_node node = 0; node < roster->count; node++) {
        struct cv_attendance *known = &proposal->seating.known[node];
        const struct cv_peer *peer = member->peers.list ? member->peers.list[node] : NULL;
        const struct cv_stranger *told = node == roster->me ? &member->peers.self : peer ? &peer->told : NULL;
        const uint64_t epoch = raft->assembly.epoch, kept = node == roster->me ? epoch : raft->assembly.begun[node];
        if (!told || proposal->seating.ids[node] != roster->ids[node])
            continue;
        if (cv_set_has(proposal->members, node)) {
            known->directory = told->directory;
            known->starts = told->starts > known->starts ? told->starts : known->starts;
        }
        if (known->directory == told->directory && kept > known->kept && kept <= epoch && kept < UINT32_MAX)
            known->kept = (uint32_t)kept;
    }
}

bool cv_raft_propose(void *context, const struct cv_proposal *proposal)
{
    const struct cv_raft *raft = ((const struct cv_member *)context)->raft;
    struct cv_proposal attended = *proposal;
    struct cv_buffer bytes = {0};
    uint64_t number;
    if (raft->backlog_count)
        return false; /* there is a later entry than the one this follows on */
    attend(raft, &attended);
    cv_proposal_write(&attended, &bytes);
    cv_roster_write_addresses(raft, &attended.seating, &bytes);
    const bool done = !bytes.broken && cv_agreement_propose(raft->agreement, bytes.bytes, bytes.length, &number) == 0;
    free(bytes.bytes);
    return done;
}

int cv_raft_open_log(struct cv_raft *raft, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    const struct cv_roster *roster = &raft->member->roster;
    if (!(raft->directory = strdup(settings->directory)))
        return CV_ENOMEM;
    const uint32_t election_ms = cv_raft_election_ms(&raft->assembly.agreed.seating.terms);
    const struct cv_agreement_options options = {
        .id = cv_raft_seat(raft, roster->me),
        .directory = raft->directory,
        .threaded = true,
        .fresh = cv_founding_draw(),
        .election_ms = election_ms,
        .heartbeat_ms = election_ms / 5,
        .seed = cv_random_next(&raft->member->host.random),
    };
    const struct cv_agreement_calls calls = {.send = send_agreement,
                                             .committed = committed,
                                             .leader = leader_changed,
                                             .decided = decided,
                                             .failed = failed,
                                             .wake = wake,
                                             .now_ms = now_ms,
                                             .fits = fits,
                                             .warn = warn,
                                             .context = raft};
    raft->wake.data = raft;
    if (uv_async_init(&raft->member->loop.uv, &raft->wake, woken))
        return CV_ENOMEM;
    raft->tick_us = (uint64_t)options.heartbeat_ms * 250;
    const int error = cv_agreement_open(&raft->agreement, &options, &calls, complaint);
    return error ? error : cv_founding_open(raft, complaint);
}
