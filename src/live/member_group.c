// SPDX-License-Identifier: MIT
#include "live/member_group.h"

#include "live/consensus.h"
#include "live/member.h"
#include "live/roster.h"
#include "live/view_promises.h"

/* ---- how it stands ---- */

const char *cv_member_mode(const struct cv_member *member)
{
    if (member->consensus)
        return member->consensus->protocol->mode;
    return member->roster.count > 1 ? "static" : "single";
}

bool cv_member_agrees(const struct cv_member *member)
{
    return member->consensus;
}

bool cv_member_changes_terms(const struct cv_member *member)
{
    return member->consensus && member->consensus->protocol->reconfigures;
}

/* Others cannot reach a member without an address for members. */
bool cv_member_changes_members(const struct cv_member *member)
{
    return cv_member_changes_terms(member) && member->peers.list;
}

uint64_t cv_member_views(const struct cv_member *member)
{
    return member->consensus ? member->consensus->agreed_views.changes : member->static_views.changes;
}

static bool differs_in_rules(const struct cv_peers *peers)
{
    for (cv_node node = 0; peers->list && node < peers->roster->count; node++) {
        const struct cv_peer *peer = peers->list[node];
        if (peer && !peer->greeted &&
            (peer->refusal == CV_REFUSAL_RULES || (peer->objection == CV_REFUSAL_RULES && cv_peer_objection(peer))))
            return true;
    }
    return false;
}

static const char *trouble_of(const struct consensus *consensus)
{
    if (*consensus->refused)
        return consensus->refused;
    if (!consensus_leased(consensus) && differs_in_rules(&consensus->member->peers))
        return "its rules for locks and elections are not those of other members";
    return consensus->founding && *consensus->waits ? consensus->waits : NULL;
}

void cv_member_status(const struct cv_member *member, struct cv_member_status *status)
{
    const struct consensus *consensus = member->consensus;
    const struct cv_agreed_views *views = &consensus->agreed_views;
    *status = (struct cv_member_status){
        .trouble = trouble_of(consensus),
        .leaves = consensus->gone,
        .leader = (int64_t)consensus->leader - 1,
        .term = consensus->term,
        .lapses = consensus->lapses,
        .grace_ms = view_promises_grace_ms(member),
        .hold_off_ms = views->times.hold_off_us / 1000,
        .heartbeat_ms = consensus->settings->heartbeat_ms,
        .lease = consensus->lease.terms,
        .seating = &views->agreed.seating,
        .terms_count = !views->frozen && views->view.epoch == views->epoch,
        .voters = views->agreed.seating.voters,
        .directory = consensus->directory,
    };
    consensus->protocol->status(consensus, status);
}

/* ---- the lease ---- */

void cv_member_look(struct cv_member *member)
{
    if (member->consensus)
        consensus_look(member->consensus);
}

bool cv_member_leased(const struct cv_member *member)
{
    return member->consensus && consensus_leased(member->consensus);
}

bool cv_member_serves(const struct cv_member *member)
{
    return cv_host_ready(&member->host) && (!member->consensus || consensus_leased(member->consensus));
}

uint64_t cv_member_held_until(const struct cv_member *member)
{
    const uint64_t now = cv_loop_now();
    const struct consensus *consensus = member->consensus;
    return consensus && !consensus_leased(consensus) && consensus->held_until_us < now ? consensus->held_until_us : now;
}

bool cv_member_is_hopeless(const struct cv_member *member, bool tries)
{
    const struct consensus *consensus = member->consensus;
    return consensus && (consensus->without || (tries && consensus->lapses && !consensus_leased(consensus)));
}

uint64_t cv_member_lease_left_us(const struct cv_member *member)
{
    return consensus_left_us(member->consensus);
}

int64_t cv_member_lease_left_ms(const struct cv_member *member)
{
    return consensus_left_ms(member->consensus);
}

/* A client's clock may lag as far as this node's runs ahead. */
uint64_t cv_member_outlast_us(const struct cv_member *member, uint64_t us)
{
    const struct cv_lease_terms *terms = member->consensus ? &member->consensus->lease.terms : NULL;
    return terms ? cv_lease_long(terms, cv_lease_long(terms, us)) : us;
}

/* A witness remembers no promises, so in a group with one all members have to know a promise. */
bool cv_member_is_enough(const struct cv_member *member, cv_set aware)
{
    const struct consensus *consensus = member->consensus;
    if (consensus && consensus->protocol->witness != CV_NOBODY)
        return !(member->host.view.members & ~aware);
    return !consensus || cv_majority(aware, consensus->lease.voters);
}

bool cv_member_may_be_left_out(const struct cv_member *member)
{
    return member->consensus && !cv_set_has(member->consensus->lease.voters, member->roster.me);
}

/* ---- changes ---- */

void cv_member_leave(struct cv_member *member)
{
    if (member->consensus && member->consensus->is_open)
        consensus_leave(member->consensus);
}

bool cv_member_step_down(struct cv_member *member, cv_node to)
{
    return consensus_step_down(member->consensus, to);
}

bool cv_member_request(struct cv_member *member, const struct cv_change_request *request)
{
    return roster_request(member->consensus, request, false);
}

bool cv_member_replace(struct cv_member *member, cv_node node)
{
    return roster_replace(member->consensus, node);
}

int cv_member_check(const struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after,
                    struct cv_complaint *complaint)
{
    return member->consensus ? roster_check(member->consensus, before, after, complaint) : 0;
}

void cv_member_reconfigure(struct cv_member *member, const struct cv_settings *before, const struct cv_settings *after)
{
    if (!member->consensus)
        return;
    roster_reconfigure(member->consensus, before, after);
    roster_remember(member->consensus);
}
