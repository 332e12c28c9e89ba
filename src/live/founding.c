// SPDX-License-Identifier: MIT
#include "live/founding.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "group/identity.h"
#include "group/proposal.h"
#include "group/raft/agreement.h"
#include "live/consensus.h"
#include "live/member.h"
#include "live/net/objection.h"
#include "live/process/event_log.h"
#include "live/roster.h"
#include "live/settings/settings.h"

#define WELCOME_US 1000000u /* between two that one node is sent while no view has it */

static uint64_t draw(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number || !number)
        abort(); /* two groups with the same number would mix */
    return number;
}

uint32_t founding_draw(void)
{
    return (uint32_t)draw() | 1;
}

/* ---- belonging ---- */

static void belong(struct consensus *consensus, uint64_t group)
{
    consensus->member->roster.group = group;
    consensus->founding = false;
    *consensus->waits = *consensus->refused = '\0';
}

/* The group consists of these members of the configuration. */
static void take_seats(struct consensus *consensus, cv_set seats)
{
    struct cv_roster *roster = &consensus->member->roster;
    const struct cv_terms terms = cv_settings_terms(consensus->settings);
    cv_set voters = 0;
    for (cv_node node = 0; node < roster->count; node++) {
        if (!cv_set_has(seats, node)) {
            roster->ids[node] = CV_NO_ID;
            roster->addresses[node] = roster->clients[node] = NULL;
            consensus->addresses[node] = (struct cv_addresses){{0}, {0}};
        } else if (!cv_set_has(roster->standbys, node) && cv_set_count(voters) < terms.values[CV_TERM_VOTERS]) {
            voters |= cv_set_of(node);
        }
    }
    roster->standbys &= seats;
    roster->voters = voters;
    cv_seating_init(&consensus->agreed_views.agreed.seating, roster, voters, &terms);
    consensus->lease.voters = voters;
    peers_follow(&consensus->member->peers);
    consensus->joining = false;
}

static void begin_soon(struct consensus *consensus)
{
    struct cv_member *member = consensus->member;
    consensus->agreed_views.times.begin_us = cv_loop_boot() + 2 * consensus->settings->timeout_ms * 1000;
    cv_alarm_set(&member->loop.alarms, &member->begin, member->earliest_us);
}

/* ---- founding ---- */

static cv_set listed(const struct consensus *consensus)
{
    return cv_set_first(consensus->member->roster.count);
}

/* The live nodes that, like this one, belong to no group. */
static cv_set heard(const struct consensus *consensus)
{
    const struct cv_member *member = consensus->member;
    cv_set set = cv_set_of(member->roster.me);
    for (cv_node node = 0; member->peers.list && node < member->roster.count; node++) {
        const struct cv_peer *peer = member->peers.list[node];
        if (peer && peer->greeted && !peer->told.group)
            set |= cv_set_of(node);
    }
    return set;
}

static cv_set founding_nodes(const struct consensus *consensus, cv_set set)
{
    const struct cv_member *member = consensus->member;
    cv_set founding = consensus->settings->founds ? cv_set_of(member->roster.me) : 0;
    for (cv_node node = 0; member->peers.list && node < member->roster.count; node++)
        if (member->peers.list[node] && member->peers.list[node]->told.founds)
            founding |= cv_set_of(node);
    return founding & set;
}

static void send_found(const struct consensus *consensus, cv_node to)
{
    struct cv_member *member = consensus->member;
    const uint64_t body[3] = {member->roster.group, consensus->founded};
    struct cv_frame frame = {.type = CV_FRAME_VIEW, .kind = CV_VIEW_FOUND, .words = 6, .body = body};
    peers_send(&member->peers, to, &frame);
}

/* Asks listed nodes that are missing to join. */
static void invite(struct consensus *consensus, cv_set missing)
{
    for (cv_node node = 0; node < consensus->settings->member_count; node++)
        if (cv_set_has(missing, node))
            roster_invite(consensus, &consensus->settings->members[node]);
}

static void found(struct consensus *consensus, cv_set set)
{
    struct cv_member *member = consensus->member;
    struct cv_roster *roster = &member->roster;
    const cv_set missing = listed(consensus) & ~set;
    struct cv_founder founders[CV_MAX_MEMBERS];
    uint32_t founder_count = 0;
    for (cv_node node = 0; node < roster->count; node++) {
        const struct cv_peer *peer = member->peers.list ? member->peers.list[node] : NULL;
        if (!cv_set_has(set, node))
            continue;
        roster->known[node].directory = peer ? peer->told.directory : member->peers.self.directory;
        founders[founder_count++] = (struct cv_founder){roster->ids[node], roster->known[node].directory};
    }
    belong(consensus, draw());
    take_seats(consensus, set);
    roster->vouches = true;
    consensus->founded = set;
    if (consensus->protocol->found(consensus, founders))
        member_end(member, "[members]: a group cannot be founded with them");
    for (cv_node node = 0; node < roster->count; node++)
        if (node != roster->me && cv_set_has(set, node))
            send_found(consensus, node);
    invite(consensus, missing);
    begin_soon(consensus);
}

/* Tells the operator, once for each set of missing members. */
static void tell_missing(struct consensus *consensus, cv_set missing)
{
    char ids[CV_LOG_IDS_BYTES];
    if (missing == consensus->told_missing || cv_loop_boot() < consensus->tell_us)
        return;
    consensus->told_missing = missing;
    cv_log_ids(&consensus->member->roster, missing, ids);
    snprintf(consensus->waits, sizeof consensus->waits,
             "no group yet: it is founded when all are there the first time; missing: %.80s", ids);
    cv_log_say(CV_LOG_FOUNDING,
               "a group is founded when all of [members] are there the first time; missing: %s; conclave node "
               "--found does it without them",
               ids);
}

void founding_consider(struct consensus *consensus)
{
    const struct cv_roster *roster = &consensus->member->roster;
    if (!consensus->founding || *consensus->refused)
        return;
    const cv_set set = heard(consensus), missing = listed(consensus) & ~roster->standbys & ~set;
    const cv_set founding = founding_nodes(consensus, set);
    const bool enough = founding && cv_majority(set, roster->voters) && cv_loop_boot() >= consensus->tell_us;
    const cv_set from = !missing ? set & ~roster->standbys : enough ? founding : 0;
    if (from && cv_set_has(from, roster->me) && !(from & (cv_set_of(roster->me) - 1)))
        found(consensus, set);
    else if (missing)
        tell_missing(consensus, missing);
}

/* ---- what others say ---- */

void founding_hear(struct consensus *consensus, cv_node from, const struct cv_frame *frame)
{
    const uint64_t group = cv_frame_number(frame, 0);
    const cv_set seats = cv_frame_number(frame, 1);
    const struct cv_member *member = consensus->member;
    const struct cv_peer *peer = member->peers.list ? member->peers.list[from] : NULL;
    if (!consensus->is_open || consensus->agreed_views.epoch || consensus->recalls || !peer || !group ||
        (seats & ~listed(consensus)) || !cv_set_has(seats, member->roster.me) || !cv_set_has(seats, from) ||
        peer->told.members != member->peers.self.members ||
        (member->roster.group ? member->roster.group != group || !consensus->joining : !consensus->founding))
        return;
    const bool anew = !member->roster.group;
    belong(consensus, group);
    take_seats(consensus, seats);
    if (anew)
        consensus->protocol->found(consensus, NULL);
    begin_soon(consensus);
}

/*
 * A newcomer may know only one member, and the list of a node that was away may lack the leader of the log, from which
 * alone entries come. The last agreed entry tells both of the others.
 */
static void send_welcome(struct consensus *consensus, cv_node to)
{
    const struct cv_agreed_views *views = &consensus->agreed_views;
    struct cv_buffer bytes = {0};
    if (!views->epoch || views->agreed.seating.generation != consensus->member->roster.generation)
        return; /* this node lags itself */
    consensus->welcome_us[to] = cv_loop_boot() + WELCOME_US;
    cv_proposal_write(&views->agreed, &bytes);
    roster_write_addresses(consensus, &views->agreed.seating, &bytes);
    const size_t length = bytes.length;
    cv_put_32(&bytes, 0); /* a body is whole words */
    struct cv_frame frame = {.type = CV_FRAME_VIEW,
                             .kind = CV_VIEW_WELCOME,
                             .round = views->epoch,
                             .clock = length,
                             .words = (uint32_t)((length + 3) / 4),
                             .body = (const void *)bytes.bytes};
    if (!bytes.broken)
        peers_send(&consensus->member->peers, to, &frame);
    free(bytes.bytes);
}

void founding_remind(struct consensus *consensus, cv_node node)
{
    if (consensus->protocol->reconfigures && !cv_set_has(consensus->agreed_views.agreed.members, node) &&
        cv_loop_boot() >= consensus->welcome_us[node])
        send_welcome(consensus, node);
}

void founding_welcome(struct consensus *consensus, const struct cv_frame *frame)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const uint64_t epoch = frame->round;
    const bool earlier_build = !epoch && !consensus->agreed_views.epoch && !consensus->seated; /* it tells no epoch */
    struct cv_proposal proposal;
    if (!consensus->is_open || !consensus->protocol->reconfigures || consensus_leased(consensus) || !roster->group ||
        (epoch <= consensus->agreed_views.epoch && !earlier_build) || epoch > CV_LAST_EPOCH ||
        frame->clock > (uint64_t)frame->words * 4)
        return;
    struct cv_cursor cursor = cv_cursor(frame->body, frame->clock);
    if (!cv_proposal_read(&cursor, &proposal) || proposal.seating.group != roster->group ||
        !roster_addresses_fit(cursor) || (consensus->seated && proposal.seating.generation <= roster->generation) ||
        !roster_follow(consensus, 0, &proposal.seating, &cursor))
        return;
    if (consensus->welcomed < epoch)
        consensus->welcomed = epoch;
    if (consensus->recalled < epoch)
        consensus->recalled = epoch;
}

void founding_greeted(struct consensus *consensus, cv_node node)
{
    const struct cv_peer *peer = consensus->member->peers.list[node];
    if (consensus->protocol->reconfigures && peer && peer->told.stored < consensus->agreed_views.epoch)
        send_welcome(consensus, node);
    if (consensus->founded && !consensus->agreed_views.epoch && cv_set_has(consensus->founded, node))
        send_found(consensus, node);
    founding_consider(consensus);
}

/* A member speaks with this node, so this node may join the member's group. */
void founding_accepted(struct consensus *consensus, cv_node node)
{
    struct cv_member *member = consensus->member;
    const struct cv_peer *peer = member->peers.list[node];
    if (member->roster.group || !peer || !peer->told.group)
        return;
    const struct cv_lease_terms *longest = &consensus->agreed_views.grants.terms;
    const uint64_t rested_us = member->started_us + cv_lease_long(longest, longest->length_us);
    consensus->joining = true;
    belong(consensus, peer->told.group);
    consensus->protocol->join(consensus, peer->told.group);
    if (member->earliest_us < rested_us)
        member->earliest_us = rested_us; /* a former node of this id may have granted leases */
}

void founding_refused(struct consensus *consensus, cv_id by)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const cv_id me = roster->ids[roster->me];
    if (!consensus->is_open || roster->group || *consensus->refused)
        return;
    snprintf(
        consensus->refused, sizeof consensus->refused,
        "the directory of node %u is empty, and a group exists already, to which node %u belongs: conclave replace "
        "%u makes this node its new member",
        me, by, me);
    cv_log_say(CV_LOG_FOUNDING, "%s; it waits for that", consensus->refused);
}

/* ---- the start ---- */

int founding_open(struct consensus *consensus, const struct cv_identity *identity, struct cv_complaint *complaint)
{
    struct cv_member *member = consensus->member;
    struct cv_roster *roster = &member->roster;
    member->peers.self = (struct cv_peer_claim){.members = roster_fingerprint(roster),
                                                .directory = identity->directory,
                                                .starts = identity->starts,
                                                .founds = consensus->settings->founds};
    roster->group = identity->group;
    roster->former = identity->former;
    consensus->founding = !identity->group && !consensus->settings->joins;
    consensus->joining = !consensus->founding;
    consensus->tell_us = cv_loop_boot() + 2 * consensus->settings->timeout_ms * 1000;
    for (uint32_t i = 0; i < identity->founder_count; i++) {
        const cv_node node = consensus_node(consensus, (uint64_t)identity->founders[i].id + 1);
        if (node == CV_NOBODY)
            return cv_complain(complaint, "[members]: node %u has founded the group, and is not listed",
                               identity->founders[i].id);
        roster->known[node].directory = identity->founders[i].directory;
        consensus->founded |= cv_set_of(node);
    }
    if (consensus->founded) { /* this node has founded a group that has no entry yet */
        take_seats(consensus, consensus->founded);
        roster->vouches = true;
    }
    return 0;
}
