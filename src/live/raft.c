// SPDX-License-Identifier: MIT
#include "live/raft.h"

#include <stdlib.h>

#include "live/diary.h"
#include "live/member.h"
#include "live/settings.h"

/* ---- the lease ---- */

static void lapse(struct cv_raft *raft)
{
    raft->leased = false;
    raft->patience_us = cv_loop_boot() + raft->lease.terms.length_us;
    raft->lapses++;
    char ids[CV_DIARY_IDS_BYTES];
    cv_note(CV_DIARY_LEASE_LOST, {"epoch", .number = raft->member->host.view.epoch},
            {"suspected", .text = cv_diary_ids(&raft->member->roster, raft->member->peers.suspected, ids)});
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

static void count_lease(struct cv_raft *raft)
{
    const uint64_t end = cv_lease_end(&raft->lease);
    if (raft->wider_us && end > cv_loop_boot() + 4 * raft->wider_us) {
        raft->margin_us = raft->wider_us;
        raft->wider_us = 0;
    }
    raft->usable_us = end > raft->margin_us ? end - raft->margin_us : 0;
}

static void granted(struct cv_raft *raft, cv_node voter, uint64_t asked_us, uint64_t length_us)
{
    const uint64_t now = cv_loop_boot();
    cv_raft_look(raft); /* what comes too late does not undo that it is over */
    if (asked_us > now || length_us > raft->longest_us || raft->gone)
        return;
    cv_lease_granted(&raft->lease, voter, asked_us, length_us);
    count_lease(raft);
    if (raft->usable_us <= now)
        return;
    cv_loop_set(&raft->member->loop, &raft->end, raft->usable_us - now);
    raft->without = false;
    if (raft->leased)
        return;
    raft->leased = true;
    cv_note(CV_DIARY_LEASE_HELD, {"epoch", .number = raft->member->host.view.epoch});
    raft->member->user.leased(raft->member->user.context, true);
}

/* After a restart a voter may have forgotten entries; it grants nothing before all that lay on its disk is agreed
 * again, or given up. */
static bool remembers(struct cv_raft *raft)
{
    if (raft->breaker)
        return raft->breaker->tie.known;
    if (raft->remembers)
        return true;
    const struct cv_agreement_status status = cv_agreement_status(raft->agreement);
    if (status.stored < raft->floor)
        raft->floor = status.stored;
    return raft->remembers = status.applied >= raft->floor && !raft->backlog_count;
}

/*
 * Also if it has no vote: it may have one in the next view, which begins with what was granted before. Nobody who is in
 * a view of the log counts by longer terms than the last entry tells; two with a tie-breaker have no such entry.
 */
static bool grants(struct cv_raft *raft, cv_node member, uint64_t epoch, struct cv_lease_terms asked)
{
    const struct cv_lease_terms *longest = &raft->assembly.grants.terms;
    if (!raft->breaker && (asked.length_us > longest->length_us || asked.drift_ppm > longest->drift_ppm))
        return false;
    return remembers(raft) && cv_grants_ask(&raft->assembly.grants, member, epoch, asked, cv_loop_boot());
}

void cv_raft_renew(struct cv_raft *raft, cv_node voter, uint64_t asked_us)
{
    const struct cv_member *member = raft->member;
    if (member->begun && grants(raft, member->roster.me, member->host.view.epoch, raft->lease.terms))
        granted(raft, voter, asked_us, raft->lease.terms.length_us);
}

/* ---- messages ---- */

void cv_raft_frame(struct cv_raft *raft, cv_node from, const struct cv_frame *frame)
{
    if (frame->type == CV_FRAME_GRANT) {
        const uint64_t now = cv_loop_boot();
        struct cv_peer *peer = raft->member->peers.list[from];
        if (peer && frame->sent_at <= now)
            cv_peer_note_round_trip(peer, now - frame->sent_at);
        granted(raft, from, frame->sent_at, (uint64_t)frame->lease_ms * 1000);
    } else if (raft->breaker) {
        raft->member->disagreements += !cv_breaker_hear(raft->breaker, frame);
    } else if (frame->clock > (uint64_t)frame->words * 4 ||
               cv_agreement_hear(raft->agreement, cv_raft_seat(raft, from), frame->body, frame->clock) == CV_EINPUT) {
        cv_peers_cut_off(&raft->member->peers, from, "a message of Raft's that no member sends");
    }
    cv_raft_take_entries(raft);
}

/* What is sent to somebody who is suspected at this moment is lost from the beginning. */
void cv_raft_began(struct cv_raft *raft)
{
    raft->torn = raft->member->peers.suspected;
    raft->lease.voters = raft->assembly.agreed.seating.voters;
    cv_raft_adopt_terms(raft);
    if (raft->gone)
        return;
    count_lease(raft);
    cv_raft_look(raft);
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
    const cv_node leader = cv_raft_node(raft, raft->leader);
    if (leader == raft->member->roster.me)
        cv_assembly_renew(&raft->assembly, cv_loop_boot());
    else if (leader != CV_NOBODY)
        cv_views_ask(raft->member, leader, CV_MOTION_RENEW, 0);
}

void cv_raft_beat(struct cv_raft *raft, cv_node from, const struct cv_frame *beat)
{
    const bool was_ready = cv_set_has(raft->ready, from);
    cv_founding_accepted(raft, from);
    cv_assembly_beat(&raft->assembly, from, beat->epoch);
    const struct cv_lease_terms asked = {(uint64_t)beat->lease_ms * 1000, beat->drift_ppm};
    if (raft->breaker)
        cv_breaker_compare(raft->breaker, asked);
    if (beat->epoch && grants(raft, from, beat->epoch, asked)) {
        const struct cv_frame answer = {
            .type = CV_FRAME_GRANT, .epoch = beat->epoch, .sent_at = beat->sent_at, .lease_ms = beat->lease_ms};
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
    if (!member->begun || (!raft->agreement && !raft->breaker))
        return;
    const bool leads = raft->breaker ? cv_breaker_leads(raft->breaker) : cv_agreement_status(raft->agreement).leads;
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
    const cv_node leader = cv_raft_node(raft, raft->leader);
    if (leader == member->roster.me)
        return cv_assembly_step_down(&raft->assembly, to, cv_loop_boot());
    if (leader == CV_NOBODY || cv_set_has(member->peers.suspected, leader))
        return false;
    cv_views_ask(raft->member, leader, CV_MOTION_STEP_DOWN, to == CV_NOBODY ? CV_NO_ID : member->roster.ids[to]);
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
    if (raft->breaker || cv_agreement_transfer(raft->agreement, 0, &number))
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

/* ---- opening ---- */

static void init(struct cv_raft *raft, struct cv_member *member, const struct cv_settings *settings)
{
    const struct cv_terms terms = cv_settings_terms(settings);
    const struct cv_lease_terms lease = cv_terms_lease(&terms);
    const uint64_t now = cv_loop_boot();
    struct cv_assembly_calls calls = cv_views_assembly_calls;
    calls.propose = settings->tie_breaker ? cv_breaker_propose : cv_raft_propose;
    calls.context = member;
    raft->member = member;
    raft->assembly.times = (struct cv_assembly_times){.begin_us = now + 2 * settings->timeout_ms * 1000,
                                                      .hold_off_us = settings->hold_off_ms * 1000};
    /* The file that breaks a tie is one voter more; what is agreed on with it is not counted. */
    const cv_set voters = member->roster.voters | (settings->tie_breaker ? cv_set_of(CV_TIE_VOTER) : 0);
    cv_assembly_init(&raft->assembly, &calls, &member->roster, voters, &terms);
    raft->assembly.tied = settings->tie_breaker;
    cv_lease_init(&raft->lease, &lease, voters);
    cv_grants_init(&raft->assembly.grants, &lease);
    raft->settings = settings;
    raft->assembly.away = true;
    cv_raft_adopt_terms(raft);
    raft->patience_us = now + settings->longest_timeout_ms * 1000;
    raft->end.ring = lease_ends;
}

/* Whoever returns, perhaps without its disk, may have granted leases, and had one itself, until just now. */
static void come_back(struct cv_raft *raft, uint64_t *away_us)
{
    const struct cv_agreement_status status = cv_agreement_status(raft->agreement);
    const struct cv_lease_terms *longest = &raft->assembly.grants.terms;
    const bool returns = raft->breaker || status.stored > 1 || status.term > 1 || raft->joining;
    raft->floor = status.stored;
    *away_us = returns ? cv_lease_long(longest, longest->length_us) : 0;
}

int cv_raft_open(struct cv_raft **opening, struct cv_member *member, const struct cv_settings *settings,
                 uint64_t *away_us, struct cv_complaint *complaint)
{
    if (!settings->raft)
        return 0;
    struct cv_raft *raft = calloc(1, sizeof *raft);
    *opening = raft;
    if (!raft || cv_alarms_reserve(&member->loop.alarms, 2))
        return CV_ENOMEM;
    init(raft, member, settings);
    const int error =
        settings->tie_breaker ? cv_breaker_open(raft, settings) : cv_raft_open_log(raft, settings, complaint);
    if (error)
        return error;
    cv_roster_recall(raft);
    come_back(raft, away_us);
    cv_roster_compare(raft);
    cv_raft_take_entries(raft);
    cv_founding_consider(raft); /* one alone need not wait */
    cv_raft_begin_time(raft);
    return 0;
}

void cv_raft_close(struct cv_raft *raft)
{
    if (raft && raft->breaker)
        cv_breaker_close(raft->breaker);
    if (raft && raft->agreement)
        cv_agreement_close(raft->agreement);
    if (raft)
        raft->agreement = NULL;
}

void cv_raft_free(struct cv_raft *raft)
{
    if (!raft)
        return;
    free(raft->breaker);
    free(raft->directory);
    free(raft);
}
