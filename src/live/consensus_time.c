// SPDX-License-Identifier: MIT
/*
 * What time does to a member. While something is under way, a view or a lease that is missing, the member looks every
 * few milliseconds. While nothing is, it looks with every heartbeat, so that it wakes up once for both, and when the
 * log's election would be due.
 */
#include "live/member.h"

#define SEATS_US 100000u

/* Is everybody there who should be, and nothing to be decided? */
static bool is_settled(const struct cv_consensus *consensus)
{
    const struct cv_agreed_views *agreed_views = &consensus->agreed_views;
    const bool views =
        agreed_views->view.epoch && agreed_views->view.epoch == agreed_views->epoch && !agreed_views->frozen;
    const bool leads =
        agreed_views->leads && (agreed_views->proposing || agreed_views->preparing || agreed_views->stale ||
                                agreed_views->alive != agreed_views->agreed.members ||
                                agreed_views->elected != agreed_views->agreed.coordinator ||
                                agreed_views->wish != CV_NOBODY || agreed_views->change.kind != CV_CHANGE_NONE);
    return consensus->leased && !consensus->tie_breaker && !consensus->change && !consensus->backlog_count &&
           !consensus->petition_count && views && !leads;
}

static uint64_t until_us(uint64_t due, uint64_t now)
{
    return due > now ? due - now : 0;
}

/* When to look again. */
static uint64_t rest_us(const struct cv_consensus *consensus)
{
    const struct cv_peers *peers = &consensus->member->peers;
    const uint64_t now = cv_loop_now();
    if (!consensus->agreement || !is_settled(consensus))
        return consensus->tick_us;
    uint64_t rest = peers->beat.place ? until_us(peers->beat.due, now) : peers->heartbeat_us;
    const uint64_t log = until_us(cv_agreement_due_ms(consensus->agreement) * 1000, now);
    if (rest > log)
        rest = log;
    return rest < consensus->tick_us / 4 ? consensus->tick_us / 4 : rest;
}

void cv_consensus_pass_time(struct cv_consensus *consensus)
{
    const struct cv_member *member = consensus->member;
    if (consensus->passing || (!consensus->agreement && !consensus->tie_breaker))
        return; /* what time brings about may tell the others of it */
    consensus->passing = true;
    cv_consensus_look(consensus);
    if (consensus->tie_breaker)
        cv_tie_breaker_tick(consensus->tie_breaker);
    else
        cv_agreement_tick(consensus->agreement);
    cv_consensus_take_entries(consensus);
    cv_consensus_renew(consensus, member->roster.me, cv_loop_boot());
    cv_agreed_views_tick(&consensus->agreed_views, cv_loop_boot());
    if (consensus->agreement && consensus->agreed_views.leads && !consensus->change &&
        cv_loop_boot() >= consensus->check_us) {
        consensus->check_us = cv_loop_boot() + SEATS_US;
        cv_consensus_arrange_seats(consensus);
    }
    cv_roster_pursue(consensus);
    cv_founding_consider(consensus);
    if (!consensus->leased && !consensus->without && cv_loop_boot() >= consensus->patience_us) {
        consensus->without = true;
        member->user.hopeless(member->user.context);
    }
    consensus->passing = false;
}

static void time_passes(struct cv_alarm *alarm)
{
    struct cv_consensus *consensus = cv_alarm_owner(alarm, struct cv_consensus, tick);
    cv_consensus_pass_time(consensus);
    cv_loop_set(&consensus->member->loop, alarm, rest_us(consensus));
}

/* A turn of the loop is over. If it has begun something, that is not left until the next heartbeat. */
static void turn_ends(uv_prepare_t *handle)
{
    struct cv_consensus *consensus = handle->data;
    const uint64_t soon = cv_loop_now() + consensus->tick_us;
    if (consensus->tick.place && consensus->tick.due > soon && !is_settled(consensus))
        cv_alarm_set(&consensus->member->loop.alarms, &consensus->tick, soon);
}

/* libuv calls whoever came last first: the alarm is set before the loop looks when the next is due. */
void cv_consensus_begin_time(struct cv_consensus *consensus)
{
    struct cv_loop *loop = &consensus->member->loop;
    consensus->tick.ring = time_passes;
    consensus->turn.data = consensus;
    uv_prepare_init(&loop->uv, &consensus->turn);
    uv_prepare_start(&consensus->turn, turn_ends);
    cv_loop_set(loop, &consensus->tick, consensus->tick_us);
}
