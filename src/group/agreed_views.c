// SPDX-License-Identifier: MIT
#include "group/agreed_views.h"

#include "group/proposal.h"

#define MOST_DOUBLINGS 6u
#define STEADY_HOLD_OFFS 10u /* a member that has been alive for so many does not flap */

void cv_agreed_views_init(struct cv_agreed_views *agreed_views, const struct cv_agreed_views_calls *calls,
                          const struct cv_roster *roster, cv_set voters, const struct cv_terms *terms)
{
    agreed_views->calls = *calls;
    agreed_views->roster = roster;
    cv_seating_init(&agreed_views->agreed.seating, roster, voters, terms);
    agreed_views->frozen = true;
    agreed_views->elected = agreed_views->requested = CV_NOBODY;
    agreed_views->alive = cv_set_of(roster->me);
}

/* ---- members and coordinator of the next view ---- */

static cv_set everybody(const struct cv_agreed_views *agreed_views)
{
    return agreed_views->agreed.seating.present;
}

static cv_set fit_members(const struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    cv_set fit = agreed_views->alive | cv_set_of(agreed_views->roster->me);
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (agreed_views->muted_until_us[node] > now_us && node != agreed_views->roster->me)
            fit &= ~cv_set_of(node);
    return fit & everybody(agreed_views);
}

static cv_node best_of(const struct cv_agreed_views *agreed_views, cv_set members)
{
    const struct cv_roster *roster = agreed_views->roster;
    cv_node best = CV_NOBODY;
    for (cv_node node = 0; node < roster->count; node++)
        if (cv_set_has(members, node) &&
            (best == CV_NOBODY || roster->attributes[node] > roster->attributes[best] ||
             (roster->attributes[node] == roster->attributes[best] && roster->ids[node] > roster->ids[best])))
            best = node;
    return best;
}

static bool is_in(cv_node node, cv_set members)
{
    return node != CV_NOBODY && cv_set_has(members, node);
}

/* Has the node not been alive for long enough to coordinate? */
static bool is_held_off(const struct cv_agreed_views *agreed_views, cv_node node, uint64_t now_us)
{
    return now_us < agreed_views->alive_since_us[node] + (agreed_views->times.hold_off_us << agreed_views->flaps[node]);
}

/* The members that have not flapped of late, or all if there are none. */
static cv_set without_flapping(const struct cv_agreed_views *agreed_views, cv_set members, uint64_t now_us)
{
    cv_set steady = members;
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (agreed_views->flaps[node] && is_held_off(agreed_views, node, now_us))
            steady &= ~cv_set_of(node);
    return steady ? steady : members;
}

/* A live coordinator stays, unless an operator asked for another, or a better one has been alive for the hold-off. */
static cv_node choose(const struct cv_agreed_views *agreed_views, cv_set members, uint64_t now_us)
{
    const cv_node elected = agreed_views->elected, present = agreed_views->agreed.coordinator;
    if (is_in(agreed_views->requested, members))
        return agreed_views->requested;
    if (agreed_views->epoch && is_in(present, members)) {
        const bool waits = !is_in(elected, members) || is_held_off(agreed_views, elected, now_us);
        return waits || agreed_views->agreed.pinned ? present : elected;
    }
    /* The election will find the same node, but takes longer. */
    return best_of(agreed_views, without_flapping(agreed_views, members, now_us));
}

/* ---- members of the group ---- */

/* If all have begun the view of the last entry, no member counts a lease by other voters. */
static bool all_have_begun(const struct cv_agreed_views *agreed_views)
{
    if (!agreed_views->epoch || agreed_views->frozen || agreed_views->view.epoch != agreed_views->epoch)
        return false;
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (node != agreed_views->roster->me && cv_set_has(agreed_views->agreed.members, node) &&
            agreed_views->begun[node] != agreed_views->epoch)
            return false;
    return true;
}

/* A voter that leaves first loses its vote, so that it still counts among the former voters. */
static bool carry_out(struct cv_seating *seating, const struct cv_change *change, cv_set members)
{
    struct cv_seating after = *seating;
    const cv_node place = cv_seating_place(seating, change->id);
    if (!cv_seating_apply(&after, change))
        return false;
    if (change->kind == CV_CHANGE_LEAVE && cv_set_has(seating->voters & members, place))
        seating->standbys |= cv_set_of(place);
    else
        *seating = after;
    return true;
}

/* Does no member count by the former terms any more, and are the leases granted by them over? */
static bool former_lease_is_over(const struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    const struct cv_lease_terms former = agreed_views->agreed.seating.former_lease;
    return agreed_views->all_begun_us &&
           now_us >= agreed_views->all_begun_us + cv_lease_long(&former, former.length_us);
}

/* Works out the seating of the next entry. True if the seating is a reason for a new entry. */
static bool arrange(const struct cv_agreed_views *agreed_views, cv_set members, struct cv_seating *seating,
                    uint64_t now_us)
{
    const struct cv_agreed_views_calls *calls = &agreed_views->calls;
    *seating = agreed_views->agreed.seating;
    if (agreed_views->tied || !all_have_begun(agreed_views) || (calls->settled && !calls->settled(calls->context)))
        return false;
    const bool over = former_lease_is_over(agreed_views, now_us), trimmed = over && cv_seating_lags(seating);
    seating->former_lease = over ? cv_terms_lease(&seating->terms) : cv_seating_lease(seating);
    seating->former = seating->voters;
    const bool changed = carry_out(seating, &agreed_views->change, members);
    /* Only members of this view may become voters of the next. */
    seating->voters = cv_seating_voters(seating, members & agreed_views->agreed.members);
    return changed || trimmed || seating->voters != seating->former;
}

/* ---- the leader's part ---- */

/* Have all newcomers been alive for long enough? */
static bool is_settled(const struct cv_agreed_views *agreed_views, cv_set newcomers, uint64_t now_us)
{
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (cv_set_has(newcomers, node) && now_us < agreed_views->alive_since_us[node] + agreed_views->times.settle_us)
            return false;
    return newcomers != 0;
}

static void consider(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    const cv_set fit = fit_members(agreed_views, now_us);
    struct cv_proposal proposal = {.proposer = agreed_views->roster->me};
    if (!agreed_views->leads || agreed_views->proposing)
        return;
    if (!agreed_views->view.epoch && now_us < agreed_views->times.begin_us && fit != everybody(agreed_views))
        return;
    bool rearranged = arrange(agreed_views, fit, &proposal.seating, now_us);
    if (rearranged && !cv_seating_majority(&proposal.seating, fit & proposal.seating.present)) {
        proposal.seating = agreed_views->agreed.seating; /* the change would cost the majority: not now */
        rearranged = false;
    }
    const cv_set members = fit & proposal.seating.present;
    if (!agreed_views->tied && !cv_seating_majority(&proposal.seating, members))
        return;
    const cv_node coordinator = choose(agreed_views, members, now_us);
    const bool gone = agreed_views->agreed.members & ~members;
    const bool called_for = !agreed_views->epoch || gone || agreed_views->stale || rearranged ||
                            is_settled(agreed_views, members & ~agreed_views->agreed.members, now_us) ||
                            coordinator != agreed_views->agreed.coordinator;
    proposal.members = members;
    proposal.coordinator = coordinator;
    proposal.pinned = is_in(agreed_views->requested, members) ||
                      (agreed_views->agreed.pinned && coordinator == agreed_views->agreed.coordinator);
    if (!called_for || !agreed_views->calls.propose(agreed_views->calls.context, &proposal))
        return;
    agreed_views->proposing = true;
    agreed_views->preparing = false;
}

static void begin(struct cv_agreed_views *agreed_views)
{
    agreed_views->view = (struct cv_view){.epoch = agreed_views->epoch,
                                          .base = cv_view_agreed_base(agreed_views->epoch),
                                          .members = agreed_views->agreed.members,
                                          .coordinator = agreed_views->agreed.coordinator};
    agreed_views->frozen = false;
    agreed_views->changes++;
    agreed_views->calls.install(agreed_views->calls.context, &agreed_views->view);
}

static void conclude(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    const struct cv_agreed_views_calls *calls = &agreed_views->calls;
    const cv_set members = agreed_views->agreed.members;
    if (!agreed_views->preparing || agreed_views->reported != members || now_us < agreed_views->free_us)
        return;
    agreed_views->preparing = false;
    agreed_views->until_us = now_us + agreed_views->times.patience_us;
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (node != agreed_views->roster->me && cv_set_has(members, node)) {
            calls->tell(calls->context, node, agreed_views->epoch);
            calls->send(calls->context, node, CV_VIEW_INSTALL, agreed_views->epoch, 0);
            agreed_views->silences[node] = 0;
        }
    begin(agreed_views);
}

static void on_report(struct cv_agreed_views *agreed_views, cv_node from, uint64_t left_us, uint64_t now_us)
{
    const uint64_t free_us = now_us + cv_lease_long(&agreed_views->grants.terms, left_us);
    agreed_views->reported |= cv_set_of(from);
    if (free_us > agreed_views->free_us)
        agreed_views->free_us = free_us;
    conclude(agreed_views, now_us);
}

/* The time left of the leases that this node has granted to members that are left out. */
static uint64_t left_us(const struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    return cv_grants_left(&agreed_views->grants, ~agreed_views->agreed.members, now_us);
}

static void prepare(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    agreed_views->proposing = false;
    agreed_views->requested = CV_NOBODY;
    agreed_views->reported = 0;
    agreed_views->free_us = now_us;
    agreed_views->until_us = now_us + agreed_views->times.patience_us;
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (node != agreed_views->roster->me && cv_set_has(agreed_views->agreed.members, node))
            agreed_views->calls.send(agreed_views->calls.context, node, CV_VIEW_PREPARE, agreed_views->epoch, 0);
    on_report(agreed_views, agreed_views->roster->me, left_us(agreed_views, now_us), now_us);
}

/* Leaves out live members that have not answered, for longer each time that it happens. */
static void lose_patience(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    const cv_set silent = agreed_views->agreed.members & ~agreed_views->reported;
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (cv_set_has(silent, node)) {
            agreed_views->muted_until_us[node] =
                now_us + (agreed_views->times.hold_off_us << agreed_views->silences[node]);
            agreed_views->silences[node] += agreed_views->silences[node] < MOST_DOUBLINGS;
        }
    agreed_views->preparing = false;
    agreed_views->stale = true;
}

/* Does a member of the present view say that it is in another? */
static bool somebody_lags(const struct cv_agreed_views *agreed_views)
{
    for (cv_node node = 0; node < agreed_views->roster->count; node++)
        if (node != agreed_views->roster->me && cv_set_has(agreed_views->agreed.members & agreed_views->alive, node) &&
            agreed_views->begun[node] != agreed_views->epoch)
            return true;
    return false;
}

void cv_agreed_views_tick(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    conclude(agreed_views, now_us);
    if (!agreed_views->leads)
        return;
    if (!agreed_views->all_begun_us && all_have_begun(agreed_views))
        agreed_views->all_begun_us = now_us;
    if (agreed_views->preparing && now_us >= agreed_views->until_us &&
        agreed_views->reported != agreed_views->agreed.members)
        lose_patience(agreed_views, now_us);
    else if (!agreed_views->preparing && !agreed_views->proposing && now_us >= agreed_views->until_us &&
             (agreed_views->view.epoch != agreed_views->epoch || somebody_lags(agreed_views)))
        agreed_views->stale = true;
    consider(agreed_views, now_us);
}

void cv_agreed_views_lead(struct cv_agreed_views *agreed_views, bool leads, uint64_t now_us)
{
    agreed_views->leads = leads;
    agreed_views->all_begun_us = 0;
    agreed_views->proposing = agreed_views->preparing = agreed_views->stale = false;
    agreed_views->requested = CV_NOBODY;
    agreed_views->change.kind = CV_CHANGE_NONE;
    if (!leads)
        return;
    agreed_views->stale = agreed_views->view.epoch != agreed_views->epoch;
    agreed_views->until_us = now_us + agreed_views->times.patience_us;
    consider(agreed_views, now_us);
}

static void note_departure(struct cv_agreed_views *agreed_views, cv_node node, uint64_t now_us)
{
    const uint64_t stayed_us = now_us - agreed_views->alive_since_us[node];
    if (stayed_us >= STEADY_HOLD_OFFS * (agreed_views->times.hold_off_us << agreed_views->flaps[node]))
        agreed_views->flaps[node] = 0;
    else
        agreed_views->flaps[node] += agreed_views->flaps[node] < MOST_DOUBLINGS;
}

void cv_agreed_views_update(struct cv_agreed_views *agreed_views, cv_set alive, cv_node elected, uint64_t now_us)
{
    for (cv_node node = 0; node < agreed_views->roster->count; node++) {
        if (cv_set_has(alive & ~agreed_views->alive, node))
            agreed_views->alive_since_us[node] = now_us;
        if (cv_set_has(agreed_views->alive & ~alive, node))
            note_departure(agreed_views, node, now_us);
    }
    agreed_views->alive = alive;
    agreed_views->elected = elected;
    consider(agreed_views, now_us);
}

void cv_agreed_views_renew(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    agreed_views->stale = agreed_views->leads;
    agreed_views->preparing = false;
    consider(agreed_views, now_us);
}

void cv_agreed_views_beat(struct cv_agreed_views *agreed_views, cv_node from, uint64_t epoch)
{
    agreed_views->begun[from] = epoch;
}

/* The next tick tries again. */
void cv_agreed_views_refused(struct cv_agreed_views *agreed_views)
{
    agreed_views->proposing = false;
    agreed_views->stale = agreed_views->leads;
}

bool cv_agreed_views_step_down(struct cv_agreed_views *agreed_views, cv_node to, uint64_t now_us)
{
    const cv_set members = fit_members(agreed_views, now_us);
    const cv_node present = agreed_views->agreed.coordinator;
    if (!agreed_views->leads || !agreed_views->epoch)
        return false;
    const cv_node next = to == CV_NOBODY ? best_of(agreed_views, members & ~cv_set_of(present)) : to;
    if (!is_in(next, members))
        return false;
    agreed_views->requested = next;
    consider(agreed_views, now_us);
    return true;
}

bool cv_agreed_views_change(struct cv_agreed_views *agreed_views, const struct cv_change *change, uint64_t now_us)
{
    const bool myself =
        change->kind == CV_CHANGE_LEAVE && change->id == agreed_views->roster->ids[agreed_views->roster->me];
    struct cv_seating after = agreed_views->agreed.seating;
    if (!agreed_views->leads || !agreed_views->epoch || agreed_views->tied || agreed_views->change.kind || myself ||
        !cv_seating_apply(&after, change))
        return false;
    agreed_views->change = *change;
    consider(agreed_views, now_us);
    return true;
}

/* ---- everybody's part ---- */

/* Another member has that place now. */
static void forget_places(struct cv_agreed_views *agreed_views, const struct cv_seating *seating)
{
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (seating->ids[node] != agreed_views->agreed.seating.ids[node]) {
            agreed_views->flaps[node] = agreed_views->silences[node] = 0;
            agreed_views->muted_until_us[node] = agreed_views->begun[node] = 0;
            agreed_views->alive &= ~cv_set_of(node) | cv_set_of(agreed_views->roster->me);
        }
}

/* Reports only when this node knows the entry and has been asked. The proposer ignores other reports. */
static void report(struct cv_agreed_views *agreed_views, uint64_t now_us)
{
    const struct cv_agreed_views_calls *calls = &agreed_views->calls;
    const cv_node to = agreed_views->agreed.proposer;
    if (agreed_views->asked != agreed_views->epoch || agreed_views->away ||
        !is_in(agreed_views->roster->me, agreed_views->agreed.members))
        return;
    calls->report(calls->context, to, agreed_views->epoch);
    calls->send(calls->context, to, CV_VIEW_REPORT, agreed_views->epoch, left_us(agreed_views, now_us));
}

void cv_agreed_views_agreed(struct cv_agreed_views *agreed_views, uint64_t epoch, const struct cv_proposal *proposal,
                            uint64_t now_us)
{
    const struct cv_agreed_views_calls *calls = &agreed_views->calls;
    const bool mine = proposal->proposer == agreed_views->roster->me && agreed_views->leads && agreed_views->proposing;
    if (epoch <= agreed_views->epoch)
        return;
    forget_places(agreed_views, &proposal->seating);
    const struct cv_terms terms = agreed_views->agreed.seating.terms;
    agreed_views->epoch = epoch;
    agreed_views->agreed = *proposal;
    agreed_views->all_begun_us = 0;
    if (agreed_views->tied) { /* a value of Disk Paxos has no room for terms, so those of the configuration count */
        agreed_views->agreed.seating.terms = terms;
        agreed_views->agreed.seating.former_lease = cv_terms_lease(&terms);
    } else {
        agreed_views->grants.terms = cv_seating_lease(&agreed_views->agreed.seating);
    }
    if (!cv_seating_needs(&proposal->seating, &agreed_views->change))
        agreed_views->change.kind = CV_CHANGE_NONE;
    agreed_views->frozen = true;
    agreed_views->preparing = mine;
    agreed_views->stale = agreed_views->leads && !mine; /* proposed by an earlier leader, or in an earlier term */
    cv_grants_learn(&agreed_views->grants, epoch, proposal->members);
    calls->freeze(calls->context, mine);
    if (mine)
        prepare(agreed_views, now_us);
    else
        report(agreed_views, now_us);
    consider(agreed_views, now_us);
}

bool cv_agreed_views_awaits(const struct cv_agreed_views *agreed_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch)
{
    if (epoch != agreed_views->epoch || !agreed_views->frozen || agreed_views->away)
        return false;
    if (kind == CV_VIEW_HOLDING || kind == CV_VIEW_REPORT)
        return agreed_views->preparing && cv_set_has(agreed_views->agreed.members & ~agreed_views->reported, from);
    return from == agreed_views->agreed.proposer && cv_set_has(agreed_views->agreed.members, agreed_views->roster->me);
}

void cv_agreed_views_hear(struct cv_agreed_views *agreed_views, cv_node from, enum cv_view_message kind, uint64_t epoch,
                          uint64_t number, uint64_t now_us)
{
    if (kind == CV_VIEW_PREPARE && epoch > agreed_views->asked) {
        agreed_views->asked = epoch;
        report(agreed_views, now_us);
        return;
    }
    if (!cv_agreed_views_awaits(agreed_views, kind, from, epoch))
        return;
    if (kind == CV_VIEW_REPORT)
        on_report(agreed_views, from, number, now_us);
    else if (kind == CV_VIEW_INSTALL)
        begin(agreed_views);
}
