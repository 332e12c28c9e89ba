// SPDX-License-Identifier: MIT
/*
 * What time does to a member. While something is under way, a view or a lease that is missing, the member looks every
 * few milliseconds. While nothing is, it looks with every heartbeat, so that it wakes up once for both, and when the
 * log's election would be due.
 */
#include "live/member.h"

#define SEATS_US 100000u

/* Is everybody there who should be, and nothing to be decided? */
static bool is_settled(const struct cv_raft *raft)
{
    const struct cv_assembly *assembly = &raft->assembly;
    const bool views = assembly->view.epoch && assembly->view.epoch == assembly->epoch && !assembly->frozen;
    const bool leads = assembly->leads && (assembly->proposing || assembly->preparing || assembly->stale ||
                                           assembly->alive != assembly->agreed.members ||
                                           assembly->elected != assembly->agreed.coordinator ||
                                           assembly->wish != CV_NOBODY || assembly->change.kind != CV_CHANGE_NONE);
    return raft->leased && !raft->breaker && !raft->change && !raft->backlog_count && !raft->petition_count && views &&
           !leads;
}

static uint64_t until_us(uint64_t due, uint64_t now)
{
    return due > now ? due - now : 0;
}

/* When to look again. */
static uint64_t rest_us(const struct cv_raft *raft)
{
    const struct cv_peers *peers = &raft->member->peers;
    const uint64_t now = cv_loop_now();
    if (!raft->agreement || !is_settled(raft))
        return raft->tick_us;
    uint64_t rest = peers->beat.place ? until_us(peers->beat.due, now) : peers->heartbeat_us;
    const uint64_t log = until_us(cv_agreement_due_ms(raft->agreement) * 1000, now);
    if (rest > log)
        rest = log;
    return rest < raft->tick_us / 4 ? raft->tick_us / 4 : rest;
}

void cv_raft_pass_time(struct cv_raft *raft)
{
    const struct cv_member *member = raft->member;
    if (raft->passing || (!raft->agreement && !raft->breaker))
        return; /* what time brings about may tell the others of it */
    raft->passing = true;
    cv_raft_look(raft);
    if (raft->breaker)
        cv_breaker_tick(raft->breaker);
    else
        cv_agreement_tick(raft->agreement);
    cv_raft_take_entries(raft);
    cv_raft_renew(raft, member->roster.me, cv_loop_boot());
    cv_assembly_tick(&raft->assembly, cv_loop_boot());
    if (raft->agreement && raft->assembly.leads && !raft->change && cv_loop_boot() >= raft->check_us) {
        raft->check_us = cv_loop_boot() + SEATS_US;
        cv_raft_arrange_seats(raft);
    }
    cv_roster_pursue(raft);
    cv_founding_consider(raft);
    if (!raft->leased && !raft->without && cv_loop_boot() >= raft->patience_us) {
        raft->without = true;
        member->user.hopeless(member->user.context);
    }
    raft->passing = false;
}

static void time_passes(struct cv_alarm *alarm)
{
    struct cv_raft *raft = cv_alarm_owner(alarm, struct cv_raft, tick);
    cv_raft_pass_time(raft);
    cv_loop_set(&raft->member->loop, alarm, rest_us(raft));
}

/* A turn of the loop is over. If it has begun something, that is not left until the next heartbeat. */
static void turn_ends(uv_prepare_t *handle)
{
    struct cv_raft *raft = handle->data;
    const uint64_t soon = cv_loop_now() + raft->tick_us;
    if (raft->tick.place && raft->tick.due > soon && !is_settled(raft))
        cv_alarm_set(&raft->member->loop.alarms, &raft->tick, soon);
}

/* libuv calls whoever came last first: the alarm is set before the loop looks when the next is due. */
void cv_raft_begin_time(struct cv_raft *raft)
{
    struct cv_loop *loop = &raft->member->loop;
    raft->tick.ring = time_passes;
    raft->turn.data = raft;
    uv_prepare_init(&loop->uv, &raft->turn);
    uv_prepare_start(&raft->turn, turn_ends);
    cv_loop_set(loop, &raft->tick, raft->tick_us);
}
