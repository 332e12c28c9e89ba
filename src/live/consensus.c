// SPDX-License-Identifier: MIT
#include "live/consensus.h"

#include <stdlib.h>

#include "group/lease_times.h"
#include "group/proposal.h"
#include "live/consensus_terms.h"
#include "live/consensus_time.h"
#include "live/founding.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/roster.h"
#include "live/settings/settings.h"
#include "live/views.h"

/* ---- the lease ---- */

static void lapse(struct consensus *consensus)
{
    consensus->leased = false;
    consensus->patience_us = cv_loop_boot() + consensus->lease.terms.length_us;
    consensus->lapses++;
    char ids[CV_LOG_IDS_BYTES];
    cv_log(CV_LOG_LEASE_LOST, {"epoch", .number = consensus->member->host.view.epoch},
           {"suspected", .text = cv_log_ids(&consensus->member->roster, consensus->member->peers.suspected, ids)});
    consensus->member->user.leased(consensus->member->user.context, false);
}

void consensus_look(struct consensus *consensus)
{
    if (consensus->leased && !consensus_leased(consensus))
        lapse(consensus);
}

static void lease_ends(struct cv_alarm *alarm)
{
    consensus_look(cv_alarm_owner(alarm, struct consensus, end));
}

uint64_t consensus_left_us(const struct consensus *consensus)
{
    const uint64_t now = cv_loop_boot();
    return consensus->usable_us > now ? consensus->usable_us - now : 0;
}

/* A client's clock may lag as far as this node's runs ahead. */
int64_t consensus_left_ms(const struct consensus *consensus)
{
    const struct cv_lease_terms *terms = &consensus->lease.terms;
    return (int64_t)(cv_lease_short(terms, cv_lease_short(terms, consensus_left_us(consensus))) / 1000);
}

static void count_lease(struct consensus *consensus)
{
    const uint64_t end = cv_lease_end(&consensus->lease);
    if (consensus->wider_us && end > cv_loop_boot() + cv_lease_wide_enough_us(consensus->wider_us)) {
        consensus->margin_us = consensus->wider_us;
        consensus->wider_us = 0;
    }
    consensus->usable_us = end > consensus->margin_us ? end - consensus->margin_us : 0;
    consensus->held_until_us = cv_loop_now() + consensus_left_us(consensus);
}

/* A member has told of an entry that this node does not have yet. Till it has, its views and places do not agree. */
static bool is_behind(const struct consensus *consensus)
{
    return consensus->agreed_views.epoch < consensus->welcomed;
}

static void granted(struct consensus *consensus, cv_node voter, uint64_t asked_us, uint64_t length_us)
{
    const uint64_t now = cv_loop_boot();
    consensus_look(consensus); /* a grant that comes too late does not revive a lease */
    if (asked_us > now || length_us > consensus->longest_us || consensus->gone || is_behind(consensus))
        return;
    cv_lease_granted(&consensus->lease, voter, asked_us, length_us);
    count_lease(consensus);
    if (consensus->usable_us <= now)
        return;
    cv_loop_set(&consensus->member->loop, &consensus->end, consensus->usable_us - now);
    consensus->without = false;
    if (consensus->leased)
        return;
    consensus->leased = true;
    cv_log(CV_LOG_LEASE_HELD, {"epoch", .number = consensus->member->host.view.epoch});
    consensus->member->user.leased(consensus->member->user.context, true);
}

/* A node without a vote grants, too: it may vote in the next view, where its earlier grants count. */
static bool grants(struct consensus *consensus, cv_node member, uint64_t epoch, struct cv_lease_terms asked)
{
    return !is_behind(consensus) && consensus->protocol->remembers(consensus) &&
           cv_grants_ask(&consensus->agreed_views.grants, member, epoch, asked, cv_loop_boot());
}

void consensus_renew(struct consensus *consensus, cv_node voter, uint64_t asked_us)
{
    const struct cv_member *member = consensus->member;
    if (member->begun && consensus->protocol->allows(consensus, consensus->lease.terms) &&
        grants(consensus, member->roster.me, member->host.view.epoch, consensus->lease.terms))
        granted(consensus, voter, asked_us, consensus->lease.terms.length_us);
}

/* ---- messages ---- */

void consensus_frame(struct consensus *consensus, cv_node from, const struct cv_frame *frame)
{
    if (frame->type == CV_FRAME_GRANT) {
        const uint64_t now = cv_loop_boot();
        struct cv_peer *peer = consensus->member->peers.list[from];
        if (peer && frame->sent_at <= now)
            peer_note_round_trip(peer, now - frame->sent_at);
        granted(consensus, from, frame->sent_at, (uint64_t)frame->lease_ms * 1000);
    } else {
        consensus->protocol->hear(consensus, from, frame);
    }
    consensus->protocol->take_entries(consensus);
}

/* A frame to a peer that is suspected now counts as lost. */
void consensus_began(struct consensus *consensus)
{
    consensus->torn = consensus->member->peers.suspected;
    consensus->lease.voters = consensus->agreed_views.agreed.seating.voters;
    consensus_adopt_terms(consensus);
    if (consensus->gone)
        return;
    count_lease(consensus);
    consensus_look(consensus);
}

/* The two can talk again. The leader of the log may have missed that they could not. */
static void mend(struct consensus *consensus, cv_node node)
{
    const struct cv_algorithm_host *host = &consensus->member->host;
    if (!cv_set_has(consensus->torn, node) || !cv_host_ready(host) || !cv_set_has(host->view.members, node) ||
        cv_loop_now() < consensus->refresh_us)
        return;
    consensus->refresh_us = cv_loop_now() + consensus->lease.terms.length_us;
    consensus_refresh(consensus);
}

void consensus_refresh(struct consensus *consensus)
{
    const cv_node leader = consensus_node(consensus, consensus->leader);
    if (leader == consensus->member->roster.me)
        cv_agreed_views_renew(&consensus->agreed_views, cv_loop_boot());
    else if (leader != CV_NOBODY)
        views_ask(consensus->member, leader, CV_VIEW_RENEW, 0);
}

void consensus_beat(struct consensus *consensus, cv_node from, const struct cv_frame *beat)
{
    const bool was_ready = cv_set_has(consensus->ready, from);
    founding_accepted(consensus, from);
    founding_remind(consensus, from);
    cv_agreed_views_beat(&consensus->agreed_views, from, beat->epoch);
    const struct cv_lease_terms asked = {(uint64_t)beat->lease_ms * 1000, beat->drift_ppm};
    const bool allowed = consensus->protocol->allows(consensus, asked);
    if (beat->epoch && allowed && grants(consensus, from, beat->epoch, asked)) {
        const struct cv_frame answer = {
            .type = CV_FRAME_GRANT, .epoch = beat->epoch, .sent_at = beat->sent_at, .lease_ms = beat->lease_ms};
        peers_say(&consensus->member->peers, from, &answer);
    }
    consensus->ready = beat->term ? consensus->ready | cv_set_of(from) : consensus->ready & ~cv_set_of(from);
    if (cv_set_has(consensus->ready, from) != was_ready)
        consensus_update(consensus);
    if (cv_set_has(consensus->renewed, from)) {
        consensus->renewed &= ~cv_set_of(from);
        cv_agreed_views_renew(&consensus->agreed_views, cv_loop_boot());
    }
    mend(consensus, from);
}

/* ---- what the member tells ---- */

void consensus_gone(struct consensus *consensus, cv_node node)
{
    consensus->ready &= ~cv_set_of(node);
    consensus->renewed &= ~cv_set_of(node);
    consensus->torn |= cv_set_of(node);
}

void consensus_update(struct consensus *consensus)
{
    const struct cv_member *member = consensus->member;
    if (!member->begun || !consensus->is_open)
        return;
    const bool leads = consensus->protocol->leads(consensus);
    consensus->agreed_views.away = false;
    cv_agreed_views_update(&consensus->agreed_views,
                           (consensus->ready & ~member->peers.suspected) | cv_set_of(member->roster.me),
                           member_leader(member), cv_loop_boot());
    if (leads != consensus->agreed_views.leads)
        cv_agreed_views_lead(&consensus->agreed_views, leads, cv_loop_boot());
}

void consensus_renewed(struct consensus *consensus, cv_node node)
{
    consensus->renewed |= cv_set_of(node);
    consensus->torn |= cv_set_of(node);
}

bool consensus_step_down(struct consensus *consensus, cv_node to)
{
    const struct cv_member *member = consensus->member;
    const cv_node leader = consensus_node(consensus, consensus->leader);
    if (leader == member->roster.me)
        return cv_agreed_views_step_down(&consensus->agreed_views, to, cv_loop_boot());
    if (leader == CV_NOBODY || cv_set_has(member->peers.suspected, leader))
        return false;
    views_ask(consensus->member, leader, CV_VIEW_STEP_DOWN, to == CV_NOBODY ? CV_NO_ID : member->roster.ids[to]);
    return true;
}

void consensus_leave(struct consensus *consensus)
{
    struct cv_member *member = consensus->member;
    consensus->gone = true;
    consensus->leased = false;
    consensus->usable_us = 0;
    member->peers.term = 0; /* as before it began */
    for (cv_node node = 0; node < member->roster.count; node++)
        if (node != member->roster.me)
            views_ask(member, node, CV_VIEW_LEAVE, 0);
    consensus->protocol->leave(consensus);
}

void consensus_forget_peer(struct consensus *consensus, cv_node node)
{
    cv_grants_forget(&consensus->agreed_views.grants, node);
    consensus_gone(consensus, node);
    consensus_update(consensus);
}

/* ---- opening ---- */

/* Raft's ids are not 0. */
uint64_t consensus_seat(const struct consensus *consensus, cv_node node)
{
    return (uint64_t)consensus->member->roster.ids[node] + 1;
}

cv_node consensus_node(const struct consensus *consensus, uint64_t seat)
{
    for (cv_node node = 0; node < consensus->member->roster.count; node++)
        if (consensus_seat(consensus, node) == seat)
            return node;
    return CV_NOBODY;
}

static bool propose(void *context, const struct cv_proposal *proposal)
{
    struct consensus *consensus = ((struct cv_member *)context)->consensus;
    return consensus->protocol->propose(consensus, proposal);
}

static void init(struct consensus *consensus, struct cv_member *member, const struct cv_settings *settings)
{
    const struct cv_terms terms = cv_settings_terms(settings);
    const struct cv_lease_terms lease = cv_terms_lease(&terms);
    const uint64_t now = cv_loop_boot();
    struct cv_agreed_views_calls calls = views_agreed_calls;
    const struct consensus_protocol *protocol = settings->tie_breaker ? &tie_breaker_protocol : &raft_protocol;
    const bool witnessed = protocol->witness != CV_NOBODY;
    calls.propose = propose;
    calls.context = member;
    consensus->member = member;
    consensus->protocol = protocol;
    consensus->agreed_views.times = (struct cv_agreed_views_times){.begin_us = now + 2 * settings->timeout_ms * 1000,
                                                                   .hold_off_us = settings->hold_off_ms * 1000};
    /* The witness is one more voter for leases. Entries do not list it. */
    const cv_set voters = member->roster.voters | (witnessed ? cv_set_of(protocol->witness) : 0);
    cv_agreed_views_init(&consensus->agreed_views, &calls, &member->roster, voters, &terms);
    consensus->agreed_views.tied = witnessed;
    cv_lease_init(&consensus->lease, &lease, voters);
    cv_grants_init(&consensus->agreed_views.grants, &lease);
    consensus->settings = settings;
    consensus->agreed_views.away = true;
    consensus_adopt_terms(consensus);
    consensus->patience_us = now + settings->longest_timeout_ms * 1000;
    consensus->end.ring = lease_ends;
}

/* A restarted node, perhaps without its disk, may have granted leases, and had one, until just now. */
static void come_back(const struct consensus *consensus, uint64_t *away_us)
{
    const struct cv_lease_terms *longest = &consensus->agreed_views.grants.terms;
    *away_us = consensus->protocol->has_granted(consensus) ? cv_lease_long(longest, longest->length_us) : 0;
}

int consensus_open(struct consensus **opening, struct cv_member *member, const struct cv_settings *settings,
                   uint64_t *away_us, struct cv_complaint *complaint)
{
    if (!settings->consensus)
        return 0;
    struct consensus *consensus = calloc(1, sizeof *consensus);
    *opening = consensus;
    if (!consensus || cv_alarms_reserve(&member->loop.alarms, 2))
        return CV_ENOMEM;
    init(consensus, member, settings);
    const int error = consensus->protocol->open(consensus, settings, complaint);
    if (error)
        return error;
    consensus->is_open = true;
    roster_recall(consensus);
    come_back(consensus, away_us);
    roster_compare(consensus);
    consensus->protocol->take_entries(consensus);
    founding_consider(consensus); /* a single node need not wait */
    consensus_begin_time(consensus);
    return 0;
}

void consensus_close(struct consensus *consensus)
{
    if (!consensus)
        return;
    if (consensus->state)
        consensus->protocol->close(consensus);
    consensus->is_open = false;
}

void consensus_free(struct consensus *consensus)
{
    if (!consensus)
        return;
    free(consensus->state);
    free(consensus->directory);
    free(consensus);
}
