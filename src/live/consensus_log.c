// SPDX-License-Identifier: MIT
/* The log: its messages, its entries, and who has a seat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/bytes.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"

/* Raft's ids are not 0. */
uint64_t cv_consensus_seat(const struct cv_consensus *consensus, cv_node node)
{
    return (uint64_t)consensus->member->roster.ids[node] + 1;
}

cv_node cv_consensus_node(const struct cv_consensus *consensus, uint64_t seat)
{
    for (cv_node node = 0; node < consensus->member->roster.count; node++)
        if (cv_consensus_seat(consensus, node) == seat)
            return node;
    return CV_NOBODY;
}

/* ---- entries ---- */

static void fail(struct cv_consensus *consensus, const char *why)
{
    cv_member_fail(consensus->member, CV_LOG_DISK_FAILED, why);
}

/* A leader may learn that an entry is agreed before its own disk has it; what it says of it must outlast a crash. */
void cv_consensus_take_entries(struct cv_consensus *consensus)
{
    uint32_t done = 0;
    if (consensus->agreement)
        consensus->member->peers.self.stored = cv_agreement_status(consensus->agreement).stored;
    if (consensus->taking)
        return; /* what an entry brings about may bring more */
    consensus->taking = true;
    while (done < consensus->backlog_count &&
           cv_agreement_status(consensus->agreement).stored >= consensus->backlog[done].epoch) {
        struct cv_backlog *entry = &consensus->backlog[done++];
        if (entry->proposal.seating.group != consensus->member->roster.group && consensus->member->roster.group) {
            fail(consensus, "the log holds an entry of another group");
            break;
        }
        const bool news = entry->epoch > consensus->agreed_views.epoch;
        struct cv_cursor rest = cv_cursor(entry->bytes, entry->rest);
        cv_consensus_look(consensus);
        if (news && !cv_roster_follow(consensus, entry->epoch, &entry->proposal.seating, &rest))
            entry->proposal.members &= ~cv_set_of(consensus->member->roster.me); /* somebody else stands there */
        cv_agreed_views_agreed(&consensus->agreed_views, entry->epoch, &entry->proposal, cv_loop_boot());
        cv_agreement_keep(consensus->agreement, entry->epoch);
        cv_roster_notice(consensus);
    }
    consensus->backlog_count -= done;
    memmove(consensus->backlog, consensus->backlog + done, consensus->backlog_count * sizeof *consensus->backlog);
    consensus->taking = false;
}

/* Is it all of a proposal of this group, and the addresses of who is in it? */
static bool fits(void *context, const void *bytes, size_t length)
{
    const struct cv_consensus *consensus = context;
    const uint64_t group = consensus->member->roster.group; /* 0: it is not known yet */
    struct cv_cursor cursor = cv_cursor(bytes, length);
    struct cv_proposal proposal;
    return cv_proposal_read(&cursor, &proposal) && (!group || proposal.seating.group == group) &&
           cv_roster_addresses_fit(cursor);
}

static void warn(void *context, const char *line)
{
    (void)context;
    cv_log_say(CV_LOG_LOG_CUT, "%s", line);
}

/* Every entry is the whole of what is agreed: when there are too many the last one counts. */
static void committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    struct cv_consensus *consensus = context;
    struct cv_proposal proposal;
    struct cv_cursor cursor = cv_cursor(bytes, length);
    if (!cv_proposal_read(&cursor, &proposal) || cursor.left > CV_AGREEMENT_ENTRY_BYTES)
        return; /* it was looked at before it was stored */
    consensus->backlog_count -= consensus->backlog_count == CV_RAFT_BACKLOG;
    struct cv_backlog *entry = &consensus->backlog[consensus->backlog_count++];
    entry->epoch = index;
    entry->proposal = proposal;
    entry->rest = cursor.left;
    memcpy(entry->bytes, cursor.at, cursor.left);
}

static void leader_changed(void *context, uint64_t leader, uint64_t term)
{
    struct cv_consensus *consensus = context;
    consensus->leader = leader;
    consensus->term = term;
    if (consensus->agreement)
        cv_consensus_take_entries(consensus); /* who leads must know what it follows on */
    cv_consensus_update(consensus);
}

static void decided(void *context, uint64_t number, bool done)
{
    struct cv_consensus *consensus = context;
    if (number == consensus->change)
        consensus->change = 0;
    else if (!done)
        cv_agreed_views_refused(&consensus->agreed_views);
}

static void failed(void *context, const char *why)
{
    fail(context, why);
}

static void wake(void *context)
{
    struct cv_consensus *consensus = context;
    uv_async_send(&consensus->wake);
}

static void woken(uv_async_t *handle)
{
    struct cv_consensus *consensus = handle->data;
    cv_agreement_settle(consensus->agreement);
    cv_consensus_take_entries(consensus);
}

static uint64_t now_ms(void *context)
{
    (void)context;
    return cv_loop_now() / 1000;
}

/* ---- messages ---- */

static void send_agreement(void *context, uint64_t to, const void *bytes, size_t length)
{
    const struct cv_consensus *consensus = context;
    unsigned char body[CV_FRAME_BYTES - 64];
    const cv_node node = cv_consensus_node(consensus, to);
    if (node == CV_NOBODY || length > sizeof body)
        return;
    memcpy(body, bytes, length);
    memset(body + length, 0, -length % 4);
    struct cv_frame frame = {
        .type = CV_FRAME_AGREEMENT, .clock = length, .words = (uint32_t)((length + 3) / 4), .body = body};
    cv_peers_send(&consensus->member->peers, node, &frame);
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
static void give_seat(struct cv_consensus *consensus, cv_node node, const struct cv_seat *seat)
{
    const uint64_t id = cv_consensus_seat(consensus, node);
    const bool votes = cv_set_has(consensus->agreed_views.agreed.seating.voters, node);
    const enum cv_seat_role role = votes ? CV_SEAT_VOTER : CV_SEAT_STANDBY;
    uint64_t number;
    if (node == consensus->member->roster.me && !votes)
        cv_agreement_transfer(consensus->agreement, 0, &number); /* who leads keeps its vote until another does */
    else if (!seat)
        cv_agreement_add(consensus->agreement, id, &consensus->change);
    else if (seat->role != role && seat->role == CV_SEAT_SPARE && votes)
        cv_agreement_assign(consensus->agreement, id, CV_SEAT_STANDBY, &consensus->change);
    /* Who is dead cannot catch up, and would only keep the others from their seats. */
    else if (seat->role != role && !(votes && cv_set_has(consensus->member->peers.suspected, node)))
        cv_agreement_assign(consensus->agreement, id, role, &consensus->change);
}

/* The log's seats follow the entries: whoever leads it takes and gives them, one at a time. */
void cv_consensus_arrange_seats(struct cv_consensus *consensus)
{
    const struct cv_roster *roster = &consensus->member->roster;
    struct cv_seat seats[CV_MAX_MEMBERS];
    size_t count = cv_agreement_seats(consensus->agreement, seats, CV_MAX_MEMBERS);
    count = count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
    if (!consensus->agreed_views.epoch)
        return;
    for (size_t i = 0; i < count && !consensus->change; i++)
        if (cv_consensus_node(consensus, seats[i].id) == CV_NOBODY)
            cv_agreement_remove(consensus->agreement, seats[i].id, &consensus->change);
    for (cv_node node = 0; node < roster->count && !consensus->change; node++)
        if (roster->ids[node] != CV_NO_ID)
            give_seat(consensus, node, find_seat(seats, count, cv_consensus_seat(consensus, node)));
}

cv_set cv_consensus_voters(const struct cv_consensus *consensus)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const cv_set agreed = consensus->agreed_views.agreed.seating.voters;
    struct cv_seat seats[CV_MAX_MEMBERS];
    cv_set voters = 0;
    if (!consensus->agreement)
        return agreed;
    size_t count = cv_agreement_seats(consensus->agreement, seats, CV_MAX_MEMBERS);
    count = count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
    for (cv_node node = 0; node < roster->count; node++) {
        const bool belongs = roster->ids[node] != CV_NO_ID && cv_set_has(agreed, node);
        const struct cv_seat *seat = belongs ? find_seat(seats, count, cv_consensus_seat(consensus, node)) : NULL;
        if (seat && seat->role == CV_SEAT_VOTER)
            voters |= cv_set_of(node);
    }
    return voters;
}

/* ---- opening ---- */

/* What is remembered of each: the directory, of those in the next view, and which entry it surely keeps there. */
static void attend(const struct cv_consensus *consensus, struct cv_proposal *proposal)
{
    const struct cv_member *member = consensus->member;
    const struct cv_roster *roster = &member->roster;
    for (cv_node node = 0; node < roster->count; node++) {
        struct cv_attendance *known = &proposal->seating.known[node];
        const struct cv_peer *peer = member->peers.list ? member->peers.list[node] : NULL;
        const struct cv_stranger *told = node == roster->me ? &member->peers.self : peer ? &peer->told : NULL;
        const uint64_t epoch = consensus->agreed_views.epoch,
                       kept = node == roster->me ? epoch : consensus->agreed_views.begun[node];
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

bool cv_consensus_propose(void *context, const struct cv_proposal *proposal)
{
    const struct cv_consensus *consensus = ((const struct cv_member *)context)->consensus;
    struct cv_proposal attended = *proposal;
    struct cv_buffer bytes = {0};
    uint64_t number;
    if (consensus->backlog_count)
        return false; /* there is a later entry than the one this follows on */
    attend(consensus, &attended);
    cv_proposal_write(&attended, &bytes);
    cv_roster_write_addresses(consensus, &attended.seating, &bytes);
    const bool done =
        !bytes.broken && cv_agreement_propose(consensus->agreement, bytes.bytes, bytes.length, &number) == 0;
    free(bytes.bytes);
    return done;
}

int cv_consensus_open_log(struct cv_consensus *consensus, const struct cv_settings *settings,
                          struct cv_complaint *complaint)
{
    const struct cv_roster *roster = &consensus->member->roster;
    if (!(consensus->directory = strdup(settings->directory)))
        return CV_ENOMEM;
    const uint32_t election_ms = cv_consensus_election_ms(&consensus->agreed_views.agreed.seating.terms);
    const struct cv_agreement_options options = {
        .id = cv_consensus_seat(consensus, roster->me),
        .directory = consensus->directory,
        .threaded = true,
        .fresh = cv_founding_draw(),
        .election_ms = election_ms,
        .heartbeat_ms = election_ms / 5,
        .seed = cv_random_next(&consensus->member->host.random),
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
                                             .context = consensus};
    consensus->wake.data = consensus;
    if (uv_async_init(&consensus->member->loop.uv, &consensus->wake, woken))
        return CV_ENOMEM;
    consensus->tick_us = (uint64_t)options.heartbeat_ms * 250;
    const int error = cv_agreement_open(&consensus->agreement, &options, &calls, complaint);
    return error ? error : cv_founding_open(consensus, complaint);
}
