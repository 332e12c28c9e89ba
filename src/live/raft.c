// SPDX-License-Identifier: MIT
#include "live/raft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/member.h"
#include "live/settings.h"

#define SEATS_US 100000u
#define PATIENCE_LEASES 4u /* for reports, and for members that have yet to begin a view */

/* Raft's ids are not 0. */
static uint64_t seat_of(const struct cv_raft *raft, cv_node node)
{
    return (uint64_t)raft->member->roster.ids[node] + 1;
}

static cv_node node_of(const struct cv_raft *raft, uint64_t seat)
{
    for (cv_node node = 0; node < raft->member->roster.count; node++)
        if (seat_of(raft, node) == seat)
            return node;
    return CV_NOBODY;
}

/* ---- the lease ---- */

static void lapse(struct cv_raft *raft)
{
    raft->leased = false;
    raft->patience_us = cv_loop_boot() + raft->lease.terms.length_us;
    raft->lapses++;
    raft->member->user.leased(raft->member->user.context, false);
}

void cv_raft_look(struct cv_raft *raft)
{
    if (raft->leased && !cv_raft_leased(raft))
        lapse(raft);
}

static void lease_ends(struct cv_alarm *alarm)
{
    cv_raft_look(cv_alarm_owner(alarm, struct cv_raft, end));
}

uint64_t cv_raft_left_us(const struct cv_raft *raft)
{
    const uint64_t now = cv_loop_boot();
    return raft->usable_us > now ? raft->usable_us - now : 0;
}

/* A client's clock may be as slow as this node's is fast. */
int64_t cv_raft_left_ms(const struct cv_raft *raft)
{
    const struct cv_lease_terms *terms = &raft->lease.terms;
    return (int64_t)(cv_lease_short(terms, cv_lease_short(terms, cv_raft_left_us(raft))) / 1000);
}

static void granted(struct cv_raft *raft, cv_node voter, uint64_t asked_us)
{
    const uint64_t now = cv_loop_boot();
    cv_raft_look(raft); /* what comes too late does not undo that it is over */
    if (asked_us > now || raft->gone)
        return;
    cv_lease_granted(&raft->lease, voter, asked_us);
    const uint64_t end = cv_lease_end(&raft->lease);
    raft->usable_us = end > raft->margin_us ? end - raft->margin_us : 0;
    if (raft->usable_us <= now)
        return;
    cv_loop_set(&raft->member->loop, &raft->end, raft->usable_us - now);
    raft->without = false;
    if (raft->leased)
        return;
    raft->leased = true;
    raft->member->user.leased(raft->member->user.context, true);
}

/* After a restart a voter may have forgotten entries; it grants nothing before all that lay on its disk is agreed
 * again, or given up. */
static bool remembers(struct cv_raft *raft)
{
    if (raft->remembers)
        return true;
    const struct cv_agreement_status status = cv_agreement_status(raft->agreement);
    if (status.stored < raft->floor)
        raft->floor = status.stored;
    return raft->remembers = status.applied >= raft->floor && !raft->backlog_count;
}

static bool grants(struct cv_raft *raft, cv_node member, uint64_t epoch)
{
    return cv_set_has(raft->lease.voters, raft->member->roster.me) && remembers(raft) &&
           cv_grants_ask(&raft->assembly.grants, member, epoch, cv_loop_boot());
}

/* ---- entries ---- */

/* A leader may learn that an entry is agreed before its own disk has it; what it says of it must outlast a crash. */
static void take_entries(struct cv_raft *raft)
{
    uint32_t done = 0;
    while (done < raft->backlog_count && cv_agreement_status(raft->agreement).stored >= raft->backlog[done].epoch) {
        const struct cv_backlog entry = raft->backlog[done++];
        cv_raft_look(raft);
        cv_assembly_agreed(&raft->assembly, entry.epoch, &entry.proposal, cv_loop_boot());
    }
    raft->backlog_count -= done;
    memmove(raft->backlog, raft->backlog + done, raft->backlog_count * sizeof *raft->backlog);
}

static void fail(struct cv_raft *raft, const char *why)
{
    fprintf(stderr, "conclave: %s\n", why);
    raft->member->failed = true;
    uv_stop(&raft->member->loop.uv);
}

static void committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    struct cv_raft *raft = context;
    struct cv_backlog entry = {.epoch = index};
    if (!cv_proposal_read(bytes, length, &raft->member->roster, &entry.proposal))
        fail(raft, "the log holds an entry that makes no sense");
    else if (raft->backlog_count == CV_RAFT_BACKLOG)
        fail(raft, "the disk does not keep up with the log");
    else
        raft->backlog[raft->backlog_count++] = entry;
}

static void leader_changed(void *context, uint64_t leader, uint64_t term)
{
    struct cv_raft *raft = context;
    raft->leader = leader;
    raft->term = term;
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
    take_entries(raft);
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
    const cv_node node = node_of(raft, to);
    if (node == CV_NOBODY || length > sizeof body)
        return;
    memcpy(body, bytes, length);
    memset(body + length, 0, -length % 4);
    struct cv_frame frame = {
        .type = CV_FRAME_AGREEMENT, .clock = length, .words = (uint32_t)((length + 3) / 4), .body = body};
    cv_peers_send(&raft->member->peers, node, &frame);
}

void cv_raft_frame(struct cv_raft *raft, cv_node from, const struct cv_frame *frame)
{
    if (frame->type == CV_FRAME_GRANT) {
        granted(raft, from, frame->sent_at);
    } else if (frame->clock > (uint64_t)frame->words * 4 ||
               cv_agreement_hear(raft->agreement, seat_of(raft, from), frame->body, frame->clock) == CV_EINPUT) {
        raft->member->disagreements++;
    }
    take_entries(raft);
}

/* What is sent to somebody who is suspected at this moment is lost from the beginning. */
void cv_raft_began(struct cv_raft *raft)
{
    raft->torn = raft->member->peers.suspected;
}

/* Those two can talk again, but the leader of the log may never have noticed that they could not. */
static void mend(struct cv_raft *raft, cv_node node)
{
    const struct cv_host *host = &raft->member->host;
    if (!cv_set_has(raft->torn, node) || !cv_host_ready(host) || !cv_set_has(host->view.members, node) ||
        cv_loop_now() < raft->refresh_us)
        return;
    raft->refresh_us = cv_loop_now() + raft->lease.terms.length_us;
    cv_raft_refresh(raft);
}

void cv_raft_refresh(struct cv_raft *raft)
{
    const cv_node leader = node_of(raft, raft->leader);
    if (leader == raft->member->roster.me)
        cv_assembly_renew(&raft->assembly, cv_loop_boot());
    else if (leader != CV_NOBODY)
        cv_views_ask(raft->member, leader, CV_MOTION_RENEW, 0);
}

void cv_raft_beat(struct cv_raft *raft, cv_node from, const struct cv_frame *beat)
{
    const bool was_ready = cv_set_has(raft->ready, from);
    cv_assembly_beat(&raft->assembly, from, beat->epoch);
    if (beat->epoch && grants(raft, from, beat->epoch)) {
        const struct cv_frame answer = {.type = CV_FRAME_GRANT, .epoch = beat->epoch, .sent_at = beat->sent_at};
        cv_peers_say(&raft->member->peers, from, &answer);
    }
    raft->ready = beat->term ? raft->ready | cv_set_of(from) : raft->ready & ~cv_set_of(from);
    if (cv_set_has(raft->ready, from) != was_ready)
        cv_raft_update(raft);
    if (cv_set_has(raft->renewed, from)) {
        raft->renewed &= ~cv_set_of(from);
        cv_assembly_renew(&raft->assembly, cv_loop_boot());
    }
    mend(raft, from);
}

/* ---- what the member tells ---- */

void cv_raft_gone(struct cv_raft *raft, cv_node node)
{
    raft->ready &= ~cv_set_of(node);
    raft->renewed &= ~cv_set_of(node);
    raft->torn |= cv_set_of(node);
}

void cv_raft_update(struct cv_raft *raft)
{
    const struct cv_member *member = raft->member;
    if (!member->begun || !raft->agreement)
        return;
    const bool leads = cv_agreement_status(raft->agreement).leads;
    raft->assembly.away = false;
    cv_assembly_update(&raft->assembly, (raft->ready & ~member->peers.suspected) | cv_set_of(member->roster.me),
                       cv_member_leader(member), cv_loop_boot());
    if (leads != raft->assembly.leads)
        cv_assembly_lead(&raft->assembly, leads, cv_loop_boot());
}

void cv_raft_renewed(struct cv_raft *raft, cv_node node)
{
    raft->renewed |= cv_set_of(node);
    raft->torn |= cv_set_of(node);
}

bool cv_raft_step_down(struct cv_raft *raft, cv_node to)
{
    const struct cv_member *member = raft->member;
    const cv_node leader = node_of(raft, raft->leader);
    if (leader == member->roster.me)
        return cv_assembly_step_down(&raft->assembly, to, cv_loop_boot());
    if (leader == CV_NOBODY || cv_set_has(member->peers.suspected, leader))
        return false;
    cv_views_ask(raft->member, leader, CV_MOTION_STEP_DOWN, to);
    return true;
}

/* Whoever leads the log lets another do so first. */
void cv_raft_leave(struct cv_raft *raft)
{
    struct cv_member *member = raft->member;
    uint64_t number;
    raft->gone = true;
    raft->leased = false;
    raft->usable_us = 0;
    member->peers.term = 0; /* as if it had not begun */
    for (cv_node node = 0; node < member->roster.count; node++)
        if (node != member->roster.me)
            cv_views_ask(member, node, CV_MOTION_LEAVE, 0);
    if (cv_agreement_transfer(raft->agreement, 0, &number))
        return;
    const uint64_t until = cv_loop_now() + raft->lease.terms.length_us / 2;
    while (cv_agreement_status(raft->agreement).leads && cv_loop_now() < until)
        uv_run(&member->loop.uv, UV_RUN_ONCE);
}

void cv_raft_left(struct cv_raft *raft, cv_node node)
{
    cv_grants_forget(&raft->assembly.grants, node);
    cv_raft_gone(raft, node);
    cv_raft_update(raft);
}

/* ---- seats ---- */

static const struct cv_seat *find_seat(const struct cv_seat *seats, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (seats[i].id == id)
            return &seats[i];
    return NULL;
}

/* The configuration has changed since the log began: whoever leads it gives and takes seats, one at a time. */
static void arrange_seats(struct cv_raft *raft)
{
    const struct cv_roster *roster = &raft->member->roster;
    struct cv_seat seats[CV_MAX_MEMBERS];
    size_t count = cv_agreement_seats(raft->agreement, seats, CV_MAX_MEMBERS);
    count = count < CV_MAX_MEMBERS ? count : CV_MAX_MEMBERS;
    for (cv_node node = 0; node < roster->count; node++) {
        const uint64_t id = seat_of(raft, node);
        const struct cv_seat *seat = find_seat(seats, count, id);
        const enum cv_seat_role role = cv_set_has(roster->voters, node) ? CV_SEAT_VOTER : CV_SEAT_STANDBY;
        if (!seat)
            cv_agreement_add(raft->agreement, id, &raft->change);
        else if (seat->role != role)
            cv_agreement_assign(raft->agreement, id, role, &raft->change);
        if (raft->change)
            return;
    }
    for (size_t i = 0; i < count; i++)
        if (node_of(raft, seats[i].id) == CV_NOBODY) {
            cv_agreement_remove(raft->agreement, seats[i].id, &raft->change);
            return;
        }
}

static void time_passes(struct cv_alarm *alarm)
{
    struct cv_raft *raft = cv_alarm_owner(alarm, struct cv_raft, tick);
    const struct cv_member *member = raft->member;
    const cv_node me = member->roster.me;
    cv_raft_look(raft);
    cv_agreement_tick(raft->agreement);
    take_entries(raft);
    if (member->begun && grants(raft, me, member->host.view.epoch))
        granted(raft, me, cv_loop_boot());
    cv_assembly_tick(&raft->assembly, cv_loop_boot());
    if (raft->assembly.leads && !raft->change && cv_loop_boot() >= raft->check_us) {
        raft->check_us = cv_loop_boot() + SEATS_US;
        arrange_seats(raft);
    }
    if (!raft->leased && !raft->without && cv_loop_boot() >= raft->patience_us) {
        raft->without = true;
        member->user.hopeless(member->user.context);
    }
    cv_loop_set(&raft->member->loop, alarm, raft->tick_us);
}

/* ---- opening ---- */

static bool propose(void *context, const struct cv_proposal *proposal)
{
    const struct cv_raft *raft = ((const struct cv_member *)context)->raft;
    unsigned char bytes[CV_PROPOSAL_BYTES];
    uint64_t number;
    const size_t length = cv_proposal_write(proposal, &raft->member->roster, bytes);
    return cv_agreement_propose(raft->agreement, bytes, length, &number) == 0;
}

static int open_agreement(struct cv_raft *raft, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    const struct cv_roster *roster = &raft->member->roster;
    struct cv_seat seats[CV_MAX_MEMBERS];
    for (cv_node node = 0; node < roster->count; node++)
        seats[node] =
            (struct cv_seat){seat_of(raft, node), cv_set_has(roster->voters, node) ? CV_SEAT_VOTER : CV_SEAT_STANDBY};
    const uint32_t election_ms = settings->lease_ms > 40 ? (uint32_t)settings->lease_ms / 2 : 20;
    const struct cv_agreement_options options = {
        .id = seat_of(raft, roster->me),
        .directory = raft->directory,
        .threaded = true,
        .seats = seats,
        .seat_count = settings->joins ? 0 : roster->count,
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
                                             .context = raft};
    raft->tick_us = (uint64_t)options.heartbeat_ms * 250;
    return cv_agreement_open(&raft->agreement, &options, &calls, complaint);
}

static void init(struct cv_raft *raft, struct cv_member *member, const struct cv_settings *settings)
{
    const struct cv_lease_terms terms = {settings->lease_ms * 1000, settings->drift_ppm};
    const uint64_t now = cv_loop_boot();
    struct cv_assembly_calls calls = cv_views_assembly_calls;
    calls.propose = propose;
    calls.context = member;
    raft->member = member;
    raft->assembly.times = (struct cv_assembly_times){.begin_us = now + 2 * settings->timeout_ms * 1000,
                                                      .settle_us = settings->bound_ms * 1000,
                                                      .hold_off_us = settings->hold_off_ms * 1000,
                                                      .patience_us = PATIENCE_LEASES * terms.length_us};
    cv_assembly_init(&raft->assembly, &calls, &member->roster, member->roster.voters);
    cv_lease_init(&raft->lease, &terms, raft->assembly.voters);
    raft->assembly.away = true;
    raft->margin_us = terms.length_us / 8;
    raft->patience_us = now + settings->longest_timeout_ms * 1000;
    raft->tick.ring = time_passes;
    raft->end.ring = lease_ends;
}

/* Whoever returns may have granted leases, and had one itself, until just now. */
static void come_back(struct cv_raft *raft, uint64_t *away_us)
{
    const struct cv_agreement_status status = cv_agreement_status(raft->agreement);
    const struct cv_lease_terms *terms = &raft->lease.terms;
    const bool returns = status.stored > 1 || status.term > 1;
    cv_grants_init(&raft->assembly.grants, terms);
    raft->floor = status.stored;
    *away_us = returns ? cv_lease_long(terms, terms->length_us) : 0;
}

int cv_raft_open(struct cv_raft **opening, struct cv_member *member, const struct cv_settings *settings,
                 uint64_t *away_us, struct cv_complaint *complaint)
{
    if (!settings->raft)
        return 0;
    struct cv_raft *raft = calloc(1, sizeof *raft);
    *opening = raft;
    if (!raft || cv_alarms_reserve(&member->loop.alarms, 2) || !(raft->directory = strdup(settings->directory)))
        return CV_ENOMEM;
    init(raft, member, settings);
    raft->wake.data = raft;
    if (uv_async_init(&member->loop.uv, &raft->wake, woken))
        return CV_ENOMEM;
    const int error = open_agreement(raft, settings, complaint);
    if (error)
        return error;
    come_back(raft, away_us);
    take_entries(raft);
    cv_loop_set(&member->loop, &raft->tick, raft->tick_us);
    return 0;
}

void cv_raft_close(struct cv_raft *raft)
{
    if (raft && raft->agreement)
        cv_agreement_close(raft->agreement);
    if (raft)
        raft->agreement = NULL;
}

void cv_raft_free(struct cv_raft *raft)
{
    if (!raft)
        return;
    free(raft->directory);
    free(raft);
}
