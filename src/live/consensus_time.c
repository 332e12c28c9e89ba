// SPDX-License-Identifier: MIT
#include "live/consensus_time.h"

#include "live/consensus.h"
#include "live/founding.h"
#include "live/member.h"
#include "live/roster.h"

/* Are all members alive, and is nothing undecided? Then the protocol's next tick is due at `due_us`. */
static bool is_settled(const struct consensus *consensus, uint64_t *due_us)
{
    const struct cv_agreed_views *agreed_views = &consensus->agreed_views;
    const bool views =
        agreed_views->view.epoch && agreed_views->view.epoch == agreed_views->epoch && !agreed_views->frozen;
    const bool leads =
        agreed_views->leads && (agreed_views->proposing || agreed_views->preparing || agreed_views->stale ||
                                agreed_views->alive != agreed_views->agreed.members ||
                                agreed_views->elected != agreed_views->agreed.coordinator ||
                                agreed_views->requested != CV_NOBODY || agreed_views->change.kind != CV_CHANGE_NONE);
    return consensus->leased && !consensus->request_count && views && !leads &&
           consensus->protocol->rests(consensus, due_us);
}

static uint64_t until_us(uint64_t due, uint64_t now)
{
    return due > now ? due - now : 0;
}

/* When to look again. */
static uint64_t rest_us(const struct consensus *consensus)
{
    const struct cv_peers *peers = &consensus->member->peers;
    const uint64_t now = cv_loop_now();
    uint64_t due_us;
    if (!consensus->is_open || !is_settled(consensus, &due_us))
        return consensus->tick_us;
    uint64_t rest = peers->beat.place ? until_us(peers->beat.due, now) : peers->heartbeat_us;
    if (rest > until_us(due_us, now))
        rest = until_us(due_us, now);
    return rest < consensus->tick_us / 4 ? consensus->tick_us / 4 : rest;
}

void consensus_pass_time(struct consensus *consensus)
{
    const struct cv_member *member = consensus->member;
    if (consensus->passing || !consensus->is_open)
        return; /* the code below can call this function again */
    consensus->passing = true;
    consensus_look(consensus);
    consensus->protocol->tick(consensus);
    consensus->protocol->take_entries(consensus);
    consensus_renew(consensus, member->roster.me, cv_loop_boot());
    cv_agreed_views_tick(&consensus->agreed_views, cv_loop_boot());
    roster_pursue(consensus);
    founding_consider(consensus);
    if (!consensus->leased && !consensus->without && cv_loop_boot() >= consensus->patience_us) {
        consensus->without = true;
        member->user.hopeless(member->user.context);
    }
    consensus->passing = false;
}

static void time_passes(struct cv_alarm *alarm)
{
    struct consensus *consensus = cv_alarm_owner(alarm, struct consensus, tick);
    consensus_pass_time(consensus);
    cv_loop_set(&consensus->member->loop, alarm, rest_us(consensus));
}

/* A turn of the loop is over. Something that it began must not wait for the next heartbeat. */
static void turn_ends(uv_prepare_t *handle)
{
    struct consensus *consensus = handle->data;
    const uint64_t soon = cv_loop_now() + consensus->tick_us;
    uint64_t due_us;
    if (consensus->tick.place && consensus->tick.due > soon && !is_settled(consensus, &due_us))
        cv_alarm_set(&consensus->member->loop.alarms, &consensus->tick, soon);
}

/* libuv calls the last started handle first, so this sets the alarm before the loop computes its next timeout. */
void consensus_begin_time(struct consensus *consensus)
{
    struct cv_loop *loop = &consensus->member->loop;
    consensus->tick.ring = time_passes;
    consensus->turn.data = consensus;
    uv_prepare_init(&loop->uv, &consensus->turn);
    uv_prepare_start(&consensus->turn, turn_ends);
    cv_loop_set(loop, &consensus->tick, consensus->tick_us);
}
