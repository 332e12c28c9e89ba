// SPDX-License-Identifier: MIT
/* Consensus by Raft's log (consensus_protocol.h): its messages, its entries, and the nodes that vote in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/bytes.h"
#include "group/lease_times.h"
#include "group/proposal.h"
#include "group/raft/agreement.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_requests.h"
#include "live/consensus.h"
#include "live/founding.h"
#include "live/member.h"
#include "live/net/objection.h"
#include "live/process/event_log.h"
#include "live/roster.h"
#include "live/settings/settings.h"

#define MOST_UNSTORED 64u /* no log holds more entries, see SNAPSHOT_THRESHOLD */
#define SEATS_US 100000u  /* between two looks at the seats */

/* An agreed entry that is not yet on this node's own disk. */
struct unstored {
    uint64_t epoch;
    struct cv_proposal proposal;
    size_t rest; /* bytes of addresses after the proposal */
    unsigned char bytes[CV_AGREEMENT_ENTRY_BYTES];
};

struct raft_log {
    struct cv_agreement *agreement;
    uv_async_t wake;   /* the disk has done something */
    uint64_t change;   /* the number of the change of seats under way, or 0 */
    uint64_t check_us; /* this node next compares the seats with the roster then */
    uint64_t floor;    /* the last index on disk at the start: once it is agreed again, no entry is forgotten */
    bool remembers;    /* all entries up to `floor` are agreed again */
    bool taking;       /* take_entries() runs at this moment */
    uint32_t backlog_count;
    struct unstored backlog[MOST_UNSTORED];
};

static struct raft_log *log_of(const struct consensus *consensus)
{
    return consensus->state;
}

static struct cv_agreement *agreement_of(const struct consensus *consensus)
{
    return log_of(consensus)->agreement;
}

/* ---- entries ---- */

static void fail(struct consensus *consensus, const char *why)
{
    cv_member_fail(consensus->member, CV_LOG_DISK_FAILED, why);
}

/* An entry may be agreed before the leader's own disk has it. The leader must not speak of it before. */
static void take_entries(struct consensus *consensus)
{
    struct raft_log *log = log_of(consensus);
    uint32_t done = 0;
    if (log->agreement)
        consensus->member->peers.self.stored = cv_agreement_status(log->agreement).stored;
    if (log->taking)
        return; /* handling an entry may call this function again */
    log->taking = true;
    while (done < log->backlog_count && cv_agreement_status(log->agreement).stored >= log->backlog[done].epoch) {
        struct unstored *entry = &log->backlog[done++];
        if (entry->proposal.seating.group != consensus->member->roster.group && consensus->member->roster.group) {
            fail(consensus, "the log holds an entry of another group");
            break;
        }
        const bool news = entry->epoch > consensus->agreed_views.epoch;
        struct cv_cursor rest = cv_cursor(entry->bytes, entry->rest);
        consensus_look(consensus);
        const struct cv_roster *roster = &consensus->member->roster;
        if (news)
            roster_follow(consensus, entry->epoch, &entry->proposal.seating, &rest);
        if (entry->proposal.seating.ids[roster->me] != roster->ids[roster->me])
            entry->proposal.members &= ~cv_set_of(roster->me); /* another node has its place */
        cv_agreed_views_agreed(&consensus->agreed_views, entry->epoch, &entry->proposal, cv_loop_boot());
        cv_agreement_keep(log->agreement, entry->epoch);
        roster_forget_done(consensus);
    }
    log->backlog_count -= done;
    memmove(log->backlog, log->backlog + done, log->backlog_count * sizeof *log->backlog);
    log->taking = false;
}

/* Are these bytes a proposal of this group, followed by addresses of its members? */
static bool fits(void *context, const void *bytes, size_t length)
{
    const struct consensus *consensus = context;
    const uint64_t group = consensus->member->roster.group; /* 0: it is not known yet */
    struct cv_cursor cursor = cv_cursor(bytes, length);
    struct cv_proposal proposal;
    return cv_proposal_read(&cursor, &proposal) && (!group || proposal.seating.group == group) &&
           roster_addresses_fit(cursor);
}

static void warn(void *context, const char *line)
{
    (void)context;
    cv_log_say(CV_LOG_LOG_CUT, "%s", line);
}

/* Every entry is the whole agreed state. If there are too many, only the last one counts. */
static void committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    const struct consensus *consensus = context;
    struct raft_log *log = log_of(consensus);
    struct cv_proposal proposal;
    struct cv_cursor cursor = cv_cursor(bytes, length);
    if (!cv_proposal_read(&cursor, &proposal) || cursor.left > CV_AGREEMENT_ENTRY_BYTES)
        return; /* the entry was checked before it was stored */
    log->backlog_count -= log->backlog_count == MOST_UNSTORED;
    struct unstored *entry = &log->backlog[log->backlog_count++];
    entry->epoch = index;
    entry->proposal = proposal;
    entry->rest = cursor.left;
    memcpy(entry->bytes, cursor.at, cursor.left);
}

static void leader_changed(void *context, uint64_t leader, uint64_t term)
{
    struct consensus *consensus = context;
    consensus->leader = leader;
    consensus->term = term;
    if (agreement_of(consensus))
        take_entries(consensus); /* a leader must know the entry before its own */
    consensus_update(consensus);
}

static void decided(void *context, uint64_t number, bool done)
{
    struct consensus *consensus = context;
    if (number == log_of(consensus)->change)
        log_of(consensus)->change = 0;
    else if (!done)
        cv_agreed_views_refused(&consensus->agreed_views);
}

static void failed(void *context, const char *why)
{
    fail(context, why);
}

static void wake(void *context)
{
    const struct consensus *consensus = context;
    uv_async_send(&log_of(consensus)->wake);
}

static void woken(uv_async_t *handle)
{
    struct consensus *consensus = handle->data;
    cv_agreement_settle(agreement_of(consensus));
    take_entries(consensus);
}

static uint64_t now_ms(void *context)
{
    (void)context;
    return cv_loop_now() / 1000;
}

/* ---- messages ---- */

static void send_agreement(void *context, uint64_t to, const void *bytes, size_t length)
{
    const struct consensus *consensus = context;
    unsigned char body[CV_FRAME_BYTES - 64];
    const cv_node node = consensus_node(consensus, to);
    if (node == CV_NOBODY || length > sizeof body)
        return;
    memcpy(body, bytes, length);
    memset(body + length, 0, -length % 4);
    struct cv_frame frame = {
        .type = CV_FRAME_AGREEMENT, .clock = length, .words = (uint32_t)((length + 3) / 4), .body = body};
    peers_send(&consensus->member->peers, node, &frame);
}

/* ---- seats ---- */

static void hand_over(struct consensus *consensus)
{
    uint64_t number;
    cv_agreement_transfer(agreement_of(consensus), 0, &number);
}

static size_t list_seats(const struct consensus *consensus, struct cv_seat seats[CV_MAX_MEMBERS])
{
    const size_t count = cv_agreement_seats(agreement_of(consensus), seats, CV_MAX_MEMBERS);
    return count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
}

static const struct cv_seat *find_seat(const struct cv_seat *seats, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (seats[i].id == id)
            return &seats[i];
    return NULL;
}

/* Gives that node the seat it should have. */
static void give_seat(struct consensus *consensus, cv_node node, const struct cv_seat *seat)
{
    const uint64_t id = consensus_seat(consensus, node);
    const bool votes = cv_set_has(consensus->agreed_views.agreed.seating.voters, node);
    const enum cv_seat_role role = votes ? CV_SEAT_VOTER : CV_SEAT_STANDBY;
    struct raft_log *log = log_of(consensus);
    if (node == consensus->member->roster.me && !votes)
        hand_over(consensus); /* the leader keeps its vote until another leads */
    else if (!seat)
        cv_agreement_add(log->agreement, id, &log->change);
    else if (seat->role != role && seat->role == CV_SEAT_SPARE && votes)
        cv_agreement_assign(log->agreement, id, CV_SEAT_STANDBY, &log->change);
    /* A dead node cannot catch up, and would only delay the others' seats. */
    else if (seat->role != role && !(votes && cv_set_has(consensus->member->peers.suspected, node)))
        cv_agreement_assign(log->agreement, id, role, &log->change);
}

/* The log's seats follow the entries. Its leader changes them one at a time. */
static void arrange_seats(struct consensus *consensus)
{
    const struct cv_roster *roster = &consensus->member->roster;
    struct raft_log *log = log_of(consensus);
    struct cv_seat seats[CV_MAX_MEMBERS];
    const size_t count = list_seats(consensus, seats);
    if (!consensus->agreed_views.epoch)
        return;
    for (size_t i = 0; i < count && !log->change; i++)
        if (consensus_node(consensus, seats[i].id) == CV_NOBODY)
            cv_agreement_remove(log->agreement, seats[i].id, &log->change);
    for (cv_node node = 0; node < roster->count && !log->change; node++)
        if (roster->ids[node] != CV_NO_ID)
            give_seat(consensus, node, find_seat(seats, count, consensus_seat(consensus, node)));
}

/* The members that vote in the log. */
static cv_set voters_of(const struct consensus *consensus)
{
    struct cv_seat seats[CV_MAX_MEMBERS];
    const size_t count = list_seats(consensus, seats);
    cv_set voters = 0;
    for (size_t i = 0; i < count; i++) {
        const cv_node node = consensus_node(consensus, seats[i].id);
        if (node != CV_NOBODY && seats[i].role == CV_SEAT_VOTER)
            voters |= cv_set_of(node);
    }
    return voters;
}

static bool has_seat(const struct consensus *consensus, cv_id id)
{
    struct cv_seat seats[CV_MAX_MEMBERS];
    return find_seat(seats, list_seats(consensus, seats), (uint64_t)id + 1);
}

/* ---- proposing ---- */

/* Fills in what the group remembers of each member of the next view: its directory, and its last stored entry. */
static void attend(const struct consensus *consensus, struct cv_proposal *proposal)
{
    const struct cv_member *member = consensus->member;
    const struct cv_roster *roster = &member->roster;
    for (cv_node node = 0; node < roster->count; node++) {
        struct cv_known_directory *known = &proposal->seating.known[node];
        const struct cv_peer *peer = member->peers.list ? member->peers.list[node] : NULL;
        const struct cv_peer_claim *told = node == roster->me ? &member->peers.self : peer ? &peer->told : NULL;
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

static bool propose(struct consensus *consensus, const struct cv_proposal *proposal)
{
    struct cv_proposal attended = *proposal;
    struct cv_buffer bytes = {0};
    uint64_t number;
    if (log_of(consensus)->backlog_count)
        return false; /* there is a later entry than this proposal's predecessor */
    attend(consensus, &attended);
    cv_proposal_write(&attended, &bytes);
    roster_write_addresses(consensus, &attended.seating, &bytes);
    const bool done =
        !bytes.broken && cv_agreement_propose(agreement_of(consensus), bytes.bytes, bytes.length, &number) == 0;
    free(bytes.bytes);
    return done;
}

static void hear(struct consensus *consensus, cv_node from, const struct cv_frame *frame)
{
    if (frame->clock > (uint64_t)frame->words * 4 ||
        cv_agreement_hear(agreement_of(consensus), consensus_seat(consensus, from), frame->body, frame->clock) ==
            CV_EINPUT)
        cv_peers_cut_off(&consensus->member->peers, from, "a message of Raft's that no member sends");
}

static bool leads(const struct consensus *consensus)
{
    return cv_agreement_status(agreement_of(consensus)).leads;
}

/* ---- time ---- */

static void tick(struct consensus *consensus)
{
    struct raft_log *log = log_of(consensus);
    if (consensus->agreed_views.leads && !log->change && cv_loop_boot() >= log->check_us) {
        log->check_us = cv_loop_boot() + SEATS_US;
        arrange_seats(consensus);
    }
    cv_agreement_tick(log->agreement);
}

static bool rests(const struct consensus *consensus, uint64_t *due_us)
{
    const struct raft_log *log = log_of(consensus);
    if (log->change || log->backlog_count)
        return false;
    *due_us = cv_agreement_due_ms(log->agreement) * 1000;
    return true;
}

static void pace(struct consensus *consensus, const struct cv_terms *terms)
{
    const uint32_t lease_ms = terms->values[CV_TERM_LEASE];
    cv_agreement_pace(agreement_of(consensus), cv_lease_election_ms(lease_ms), cv_lease_log_heartbeat_ms(lease_ms));
    consensus->tick_us = cv_lease_log_tick_us(lease_ms);
}

static void leave(struct consensus *consensus)
{
    const uint64_t until = cv_loop_now() + cv_lease_hand_over_us(consensus->lease.terms.length_us);
    uint64_t number;
    if (cv_agreement_transfer(agreement_of(consensus), 0, &number))
        return;
    while (leads(consensus) && cv_loop_now() < until)
        uv_run(&consensus->member->loop.uv, UV_RUN_ONCE);
}

/* ---- what a restart forgets ---- */

static bool has_granted(const struct consensus *consensus)
{
    const struct cv_agreement_status status = cv_agreement_status(agreement_of(consensus));
    return status.stored > 1 || status.term > 1 || consensus->joining;
}

/*
 * After a restart a voter does not know which entries were agreed. It grants nothing before all entries on its disk are
 * agreed again, or dropped.
 */
static bool remembers(struct consensus *consensus)
{
    struct raft_log *log = log_of(consensus);
    if (log->remembers)
        return true;
    const struct cv_agreement_status status = cv_agreement_status(log->agreement);
    if (status.stored < log->floor)
        log->floor = status.stored;
    return log->remembers = status.applied >= log->floor && !log->backlog_count;
}

/* No member of a view counts by longer terms than those of the last entry. */
static bool allows(struct consensus *consensus, struct cv_lease_terms asked)
{
    const struct cv_lease_terms *longest = &consensus->agreed_views.grants.terms;
    return asked.length_us <= longest->length_us && asked.drift_ppm <= longest->drift_ppm;
}

static const void *last(const struct consensus *consensus, size_t *length, uint64_t *index)
{
    *index = cv_agreement_status(agreement_of(consensus)).stored;
    return cv_agreement_last(agreement_of(consensus), length);
}

/* ---- the group ---- */

static int found(struct consensus *consensus, const struct cv_founder *founders)
{
    const struct cv_roster *roster = &consensus->member->roster;
    struct cv_seat seats[CV_MAX_MEMBERS];
    size_t count = 0;
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->ids[node] != CV_NO_ID)
            seats[count++] = (struct cv_seat){consensus_seat(consensus, node),
                                              cv_set_has(roster->voters, node) ? CV_SEAT_VOTER : CV_SEAT_STANDBY};
    return cv_agreement_found(agreement_of(consensus), roster->group, founders, seats, count);
}

static void join(struct consensus *consensus, uint64_t group)
{
    cv_agreement_belong(agreement_of(consensus), group);
}

static void status(const struct consensus *consensus, struct cv_member_status *status)
{
    const struct cv_agreement_status log = cv_agreement_status(agreement_of(consensus));
    status->committed = log.committed;
    status->stored = log.stored;
    if (!agreement_of(consensus))
        return;
    status->log_voters = voters_of(consensus);
    status->voters &= status->log_voters;
    cv_agreement_disk(agreement_of(consensus), &status->disk);
}

/* ---- opening ---- */

static int open_log(struct consensus *consensus, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const uint32_t lease_ms = consensus->agreed_views.agreed.seating.terms.values[CV_TERM_LEASE];
    struct raft_log *log = calloc(1, sizeof *log);
    consensus->state = log;
    consensus->directory = strdup(settings->directory);
    if (!log || !consensus->directory)
        return CV_ENOMEM;
    const struct cv_agreement_options options = {
        .id = consensus_seat(consensus, roster->me),
        .directory = consensus->directory,
        .threaded = true,
        .fresh = founding_draw(),
        .election_ms = cv_lease_election_ms(lease_ms),
        .heartbeat_ms = cv_lease_log_heartbeat_ms(lease_ms),
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
    log->wake.data = consensus;
    if (uv_async_init(&consensus->member->loop.uv, &log->wake, woken))
        return CV_ENOMEM;
    consensus->tick_us = cv_lease_log_tick_us(lease_ms);
    const int error = cv_agreement_open(&log->agreement, &options, &calls, complaint);
    if (error)
        return error;
    log->floor = cv_agreement_status(log->agreement).stored;
    return founding_open(consensus, cv_agreement_identity(log->agreement), complaint);
}

static void close_log(struct consensus *consensus)
{
    struct raft_log *log = log_of(consensus);
    if (log->agreement)
        cv_agreement_close(log->agreement);
    log->agreement = NULL;
}

const struct consensus_protocol raft_protocol = {
    .mode = "raft",
    .reconfigures = true,
    .witness = CV_NOBODY,
    .open = open_log,
    .close = close_log,
    .propose = propose,
    .hear = hear,
    .tick = tick,
    .take_entries = take_entries,
    .leads = leads,
    .rests = rests,
    .pace = pace,
    .has_granted = has_granted,
    .remembers = remembers,
    .allows = allows,
    .may_begin = roster_is_seated,
    .hand_over = hand_over,
    .leave = leave,
    .found = found,
    .join = join,
    .has_seat = has_seat,
    .last = last,
    .status = status,
};
