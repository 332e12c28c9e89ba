// SPDX-License-Identifier: MIT
#include "group/assembly.h"

#define MOST_DOUBLINGS 6u
#define STEADY_HOLD_OFFS 10u /* who has stayed for so many does not flap */

void cv_assembly_init(struct cv_assembly *assembly, const struct cv_assembly_calls *calls,
                      const struct cv_roster *roster, cv_set voters, const struct cv_terms *terms)
{
    assembly->calls = *calls;
    assembly->roster = roster;
    cv_seating_init(&assembly->agreed.seating, roster, voters, terms);
    assembly->frozen = true;
    assembly->elected = assembly->wish = CV_NOBODY;
    assembly->alive = cv_set_of(roster->me);
}

/* ---- who is to be in the next view, and who is to coordinate it ---- */

static cv_set everybody(const struct cv_assembly *assembly)
{
    return assembly->agreed.seating.present;
}

static cv_set fit_members(const struct cv_assembly *assembly, uint64_t now_us)
{
    cv_set fit = assembly->alive | cv_set_of(assembly->roster->me);
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (assembly->muted_until_us[node] > now_us && node != assembly->roster->me)
            fit &= ~cv_set_of(node);
    return fit & everybody(assembly);
}

static cv_node best_of(const struct cv_assembly *assembly, cv_set members)
{
    const struct cv_roster *roster = assembly->roster;
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

/* It has not been there for long enough to coordinate. */
static bool is_held_off(const struct cv_assembly *assembly, cv_node node, uint64_t now_us)
{
    return now_us < assembly->alive_since_us[node] + (assembly->times.hold_off_us << assembly->flaps[node]);
}

/* Who has come and gone of late is the last choice. */
static cv_set without_flapping(const struct cv_assembly *assembly, cv_set members, uint64_t now_us)
{
    cv_set steady = members;
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (assembly->flaps[node] && is_held_off(assembly, node, now_us))
            steady &= ~cv_set_of(node);
    return steady ? steady : members;
}

/* As long as the coordinator is there, only a wish or a better one that has been there for a while changes it. */
static cv_node choose(const struct cv_assembly *assembly, cv_set members, uint64_t now_us)
{
    const cv_node elected = assembly->elected, present = assembly->agreed.coordinator;
    if (is_in(assembly->wish, members))
        return assembly->wish;
    if (assembly->epoch && is_in(present, members)) {
        const bool waits = !is_in(elected, members) || is_held_off(assembly, elected, now_us);
        return waits || assembly->agreed.pinned ? present : elected;
    }
    /* As the election will find, which takes longer. */
    return best_of(assembly, without_flapping(assembly, members, now_us));
}

/* ---- who is to belong to the group ---- */

/* All have begun the view of the last entry: nobody counts a lease by other voters than its own. */
static bool all_have_begun(const struct cv_assembly *assembly)
{
    if (!assembly->epoch || assembly->frozen || assembly->view.epoch != assembly->epoch)
        return false;
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (node != assembly->roster->me && cv_set_has(assembly->agreed.members, node) &&
            assembly->begun[node] != assembly->epoch)
            return false;
    return true;
}

/* Who is there and has a vote gives that back first, so that it still counts among those who had one before. */
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

/* Nobody counts by former terms any more, and what was promised by them is over. */
static bool former_lease_is_over(const struct cv_assembly *assembly, uint64_t now_us)
{
    const struct cv_lease_terms former = assembly->agreed.seating.former_lease;
    return assembly->all_begun_us && now_us >= assembly->all_begun_us + cv_lease_long(&former, former.length_us);
}

/* The seating of the next entry; true if that is a reason for one. */
static bool arrange(const struct cv_assembly *assembly, cv_set members, struct cv_seating *seating, uint64_t now_us)
{
    *seating = assembly->agreed.seating;
    if (assembly->tied || !all_have_begun(assembly))
        return false;
    const bool over = former_lease_is_over(assembly, now_us), trimmed = over && cv_seating_lags(seating);
    seating->former_lease = over ? cv_terms_lease(&seating->terms) : cv_seating_lease(seating);
    seating->former = seating->voters;
    const bool changed = carry_out(seating, &assembly->change, members);
    /* Only who has begun this view has granted what the next one counts on. */
    seating->voters = cv_seating_voters(seating, members & assembly->agreed.members);
    return changed || trimmed || seating->voters != seating->former;
}

/* ---- the leader's part ---- */

/* Who is new has been there long enough. */
static bool is_settled(const struct cv_assembly *assembly, cv_set newcomers, uint64_t now_us)
{
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (cv_set_has(newcomers, node) && now_us < assembly->alive_since_us[node] + assembly->times.settle_us)
            return false;
    return newcomers != 0;
}

static void consider(struct cv_assembly *assembly, uint64_t now_us)
{
    const cv_set fit = fit_members(assembly, now_us);
    struct cv_proposal proposal = {.proposer = assembly->roster->me};
    if (!assembly->leads || assembly->proposing)
        return;
    if (!assembly->view.epoch && now_us < assembly->times.begin_us && fit != everybody(assembly))
        return;
    bool rearranged = arrange(assembly, fit, &proposal.seating, now_us);
    if (rearranged && !cv_seating_majority(&proposal.seating, fit & proposal.seating.present)) {
        proposal.seating = assembly->agreed.seating; /* it would cost the majority: not now */
        rearranged = false;
    }
    const cv_set members = fit & proposal.seating.present;
    if (!assembly->tied && !cv_seating_majority(&proposal.seating, members))
        return;
    const cv_node coordinator = choose(assembly, members, now_us);
    const bool gone = assembly->agreed.members & ~members;
    const bool called_for = !assembly->epoch || gone || assembly->stale || rearranged ||
                            is_settled(assembly, members & ~assembly->agreed.members, now_us) ||
                            coordinator != assembly->agreed.coordinator;
    proposal.members = members;
    proposal.coordinator = coordinator;
    proposal.pinned =
        is_in(assembly->wish, members) || (assembly->agreed.pinned && coordinator == assembly->agreed.coordinator);
    if (!called_for || !assembly->calls.propose(assembly->calls.context, &proposal))
        return;
    assembly->proposing = true;
    assembly->preparing = false;
}

static void begin(struct cv_assembly *assembly)
{
    assembly->view = (struct cv_view){.epoch = assembly->epoch,
                                      .base = assembly->epoch << 40,
                                      .members = assembly->agreed.members,
                                      .coordinator = assembly->agreed.coordinator};
    assembly->frozen = false;
    assembly->changes++;
    assembly->calls.install(assembly->calls.context, &assembly->view);
}

static void conclude(struct cv_assembly *assembly, uint64_t now_us)
{
    const struct cv_assembly_calls *calls = &assembly->calls;
    const cv_set members = assembly->agreed.members;
    if (!assembly->preparing || assembly->reported != members || now_us < assembly->free_us)
        return;
    assembly->preparing = false;
    assembly->until_us = now_us + assembly->times.patience_us;
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (node != assembly->roster->me && cv_set_has(members, node)) {
            calls->tell(calls->context, node, assembly->epoch);
            calls->send(calls->context, node, CV_MOTION_INSTALL, assembly->epoch, 0);
            assembly->silences[node] = 0;
        }
    begin(assembly);
}

static void on_report(struct cv_assembly *assembly, cv_node from, uint64_t left_us, uint64_t now_us)
{
    const uint64_t free_us = now_us + cv_lease_long(&assembly->grants.terms, left_us);
    assembly->reported |= cv_set_of(from);
    if (free_us > assembly->free_us)
        assembly->free_us = free_us;
    conclude(assembly, now_us);
}

/* How long what this node has granted to those left out still lasts. */
static uint64_t left_us(const struct cv_assembly *assembly, uint64_t now_us)
{
    return cv_grants_left(&assembly->grants, ~assembly->agreed.members, now_us);
}

static void prepare(struct cv_assembly *assembly, uint64_t now_us)
{
    assembly->proposing = false;
    assembly->wish = CV_NOBODY;
    assembly->reported = 0;
    assembly->free_us = now_us;
    assembly->until_us = now_us + assembly->times.patience_us;
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (node != assembly->roster->me && cv_set_has(assembly->agreed.members, node))
            assembly->calls.send(assembly->calls.context, node, CV_MOTION_PREPARE, assembly->epoch, 0);
    on_report(assembly, assembly->roster->me, left_us(assembly, now_us), now_us);
}

/* Who is alive but has not answered is left out, the longer the more often that happens. */
static void lose_patience(struct cv_assembly *assembly, uint64_t now_us)
{
    const cv_set silent = assembly->agreed.members & ~assembly->reported;
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (cv_set_has(silent, node)) {
            assembly->muted_until_us[node] = now_us + (assembly->times.hold_off_us << assembly->silences[node]);
            assembly->silences[node] += assembly->silences[node] < MOST_DOUBLINGS;
        }
    assembly->preparing = false;
    assembly->stale = true;
}

/* Does a member of the view that runs say that it is in another? */
static bool somebody_lags(const struct cv_assembly *assembly)
{
    for (cv_node node = 0; node < assembly->roster->count; node++)
        if (node != assembly->roster->me && cv_set_has(assembly->agreed.members & assembly->alive, node) &&
            assembly->begun[node] != assembly->epoch)
            return true;
    return false;
}

void cv_assembly_tick(struct cv_assembly *assembly, uint64_t now_us)
{
    conclude(assembly, now_us);
    if (!assembly->leads)
        return;
    if (!assembly->all_begun_us && all_have_begun(assembly))
        assembly->all_begun_us = now_us;
    if (assembly->preparing && now_us >= assembly->until_us && assembly->reported != assembly->agreed.members)
        lose_patience(assembly, now_us);
    else if (!assembly->preparing && !assembly->proposing && now_us >= assembly->until_us &&
             (assembly->view.epoch != assembly->epoch || somebody_lags(assembly)))
        assembly->stale = true;
    consider(assembly, now_us);
}

void cv_assembly_lead(struct cv_assembly *assembly, bool leads, uint64_t now_us)
{
    assembly->leads = leads;
    assembly->all_begun_us = 0;
    assembly->proposing = assembly->preparing = assembly->stale = false;
    assembly->wish = CV_NOBODY;
    assembly->change.kind = CV_CHANGE_NONE;
    if (!leads)
        return;
    assembly->stale = assembly->view.epoch != assembly->epoch;
    assembly->until_us = now_us + assembly->times.patience_us;
    consider(assembly, now_us);
}

static void note_departure(struct cv_assembly *assembly, cv_node node, uint64_t now_us)
{
    const uint64_t stayed_us = now_us - assembly->alive_since_us[node];
    if (stayed_us >= STEADY_HOLD_OFFS * (assembly->times.hold_off_us << assembly->flaps[node]))
        assembly->flaps[node] = 0;
    else
        assembly->flaps[node] += assembly->flaps[node] < MOST_DOUBLINGS;
}

void cv_assembly_update(struct cv_assembly *assembly, cv_set alive, cv_node elected, uint64_t now_us)
{
    for (cv_node node = 0; node < assembly->roster->count; node++) {
        if (cv_set_has(alive & ~assembly->alive, node))
            assembly->alive_since_us[node] = now_us;
        if (cv_set_has(assembly->alive & ~alive, node))
            note_departure(assembly, node, now_us);
    }
    assembly->alive = alive;
    assembly->elected = elected;
    consider(assembly, now_us);
}

void cv_assembly_renew(struct cv_assembly *assembly, uint64_t now_us)
{
    assembly->stale = assembly->leads;
    assembly->preparing = false;
    consider(assembly, now_us);
}

void cv_assembly_beat(struct cv_assembly *assembly, cv_node from, uint64_t epoch)
{
    assembly->begun[from] = epoch;
}

/* The next tick tries again. */
void cv_assembly_refused(struct cv_assembly *assembly)
{
    assembly->proposing = false;
    assembly->stale = assembly->leads;
}

bool cv_assembly_step_down(struct cv_assembly *assembly, cv_node to, uint64_t now_us)
{
    const cv_set members = fit_members(assembly, now_us);
    const cv_node present = assembly->agreed.coordinator;
    if (!assembly->leads || !assembly->epoch)
        return false;
    const cv_node next = to == CV_NOBODY ? best_of(assembly, members & ~cv_set_of(present)) : to;
    if (!is_in(next, members))
        return false;
    assembly->wish = next;
    consider(assembly, now_us);
    return true;
}

bool cv_assembly_change(struct cv_assembly *assembly, const struct cv_change *change, uint64_t now_us)
{
    const bool myself = change->kind == CV_CHANGE_LEAVE && change->id == assembly->roster->ids[assembly->roster->me];
    struct cv_seating after = assembly->agreed.seating;
    if (!assembly->leads || !assembly->epoch || assembly->tied || assembly->change.kind || myself ||
        !cv_seating_apply(&after, change))
        return false;
    assembly->change = *change;
    consider(assembly, now_us);
    return true;
}

/* ---- everybody's part ---- */

/* Somebody else stands at that place now. */
static void forget_places(struct cv_assembly *assembly, const struct cv_seating *seating)
{
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (seating->ids[node] != assembly->agreed.seating.ids[node]) {
            assembly->flaps[node] = assembly->silences[node] = 0;
            assembly->muted_until_us[node] = assembly->begun[node] = 0;
            assembly->alive &= ~cv_set_of(node) | cv_set_of(assembly->roster->me);
        }
}

/* Once this node knows the entry and has been asked: only then does the other count what it is told. */
static void report(struct cv_assembly *assembly, uint64_t now_us)
{
    const struct cv_assembly_calls *calls = &assembly->calls;
    const cv_node to = assembly->agreed.proposer;
    if (assembly->asked != assembly->epoch || assembly->away || !is_in(assembly->roster->me, assembly->agreed.members))
        return;
    calls->report(calls->context, to, assembly->epoch);
    calls->send(calls->context, to, CV_MOTION_REPORT, assembly->epoch, left_us(assembly, now_us));
}

void cv_assembly_agreed(struct cv_assembly *assembly, uint64_t epoch, const struct cv_proposal *proposal,
                        uint64_t now_us)
{
    const struct cv_assembly_calls *calls = &assembly->calls;
    const bool mine = proposal->proposer == assembly->roster->me && assembly->leads && assembly->proposing;
    if (epoch <= assembly->epoch)
        return;
    forget_places(assembly, &proposal->seating);
    const struct cv_terms terms = assembly->agreed.seating.terms;
    assembly->epoch = epoch;
    assembly->agreed = *proposal;
    assembly->all_begun_us = 0;
    if (assembly->tied) { /* what two agree on has no room for terms: they are those of the configuration */
        assembly->agreed.seating.terms = terms;
        assembly->agreed.seating.former_lease = cv_terms_lease(&terms);
    } else {
        assembly->grants.terms = cv_seating_lease(&assembly->agreed.seating);
    }
    if (!cv_seating_needs(&proposal->seating, &assembly->change))
        assembly->change.kind = CV_CHANGE_NONE;
    assembly->frozen = true;
    assembly->preparing = mine;
    assembly->stale = assembly->leads && !mine; /* of an earlier leader, or an earlier time of this one */
    cv_grants_learn(&assembly->grants, epoch, proposal->members);
    calls->freeze(calls->context, mine);
    if (mine)
        prepare(assembly, now_us);
    else
        report(assembly, now_us);
    consider(assembly, now_us);
}

bool cv_assembly_awaits(const struct cv_assembly *assembly, enum cv_motion motion, cv_node from, uint64_t epoch)
{
    if (epoch != assembly->epoch || !assembly->frozen || assembly->away)
        return false;
    if (motion == CV_MOTION_HOLDING || motion == CV_MOTION_REPORT)
        return assembly->preparing && cv_set_has(assembly->agreed.members & ~assembly->reported, from);
    return from == assembly->agreed.proposer && cv_set_has(assembly->agreed.members, assembly->roster->me);
}

void cv_assembly_hear(struct cv_assembly *assembly, cv_node from, enum cv_motion motion, uint64_t epoch,
                      uint64_t number, uint64_t now_us)
{
    if (motion == CV_MOTION_PREPARE && epoch > assembly->asked) {
        assembly->asked = epoch;
        report(assembly, now_us);
        return;
    }
    if (!cv_assembly_awaits(assembly, motion, from, epoch))
        return;
    if (motion == CV_MOTION_REPORT)
        on_report(assembly, from, number, now_us);
    else if (motion == CV_MOTION_INSTALL)
        begin(assembly);
}
