// SPDX-License-Identifier: MIT
#include "live/view_promises.h"

#include "live/consensus.h"
#include "live/member.h"

static cv_set next_members(const struct cv_member *member)
{
    return member->consensus ? member->consensus->agreed_views.agreed.members : member->static_views.next.members;
}

uint64_t view_promises_grace_ms(const struct cv_member *member)
{
    const uint64_t now = cv_loop_now();
    return member->grace_until_us > now ? (member->grace_until_us - now + 999) / 1000 : 0;
}

void view_promises_begin(struct cv_member *member, bool prepares)
{
    struct view_promises *it = &member->reported;
    const uint64_t entry = member->consensus ? member->consensus->agreed_views.epoch : 0;
    const uint64_t prior = entry == it->entry ? it->prior : it->entry;
    *it = (struct view_promises){.prepares = prepares, .entry = entry, .prior = prior};
    if (prepares)
        view_promises_hear(member, member->roster.me, member->host.view.epoch, ttl_ceiling_found_ms(&member->ceiling),
                           view_promises_grace_ms(member));
}

void view_promises_hear(struct cv_member *member, cv_node from, uint64_t epoch, uint64_t ceiling_ms, uint64_t grace_ms)
{
    struct view_promises *it = &member->reported;
    it->heard |= cv_set_of(from);
    it->epoch[from] = epoch;
    it->ceiling_ms = ceiling_ms > it->ceiling_ms ? ceiling_ms : it->ceiling_ms;
    it->grace_ms = grace_ms > it->grace_ms ? grace_ms : it->grace_ms;
}

/*
 * Members of the latest view know best which node keeps the promise. That an operator has forced it is true for good,
 * and perhaps not all of them have heard of it.
 */
void view_promises_add(const struct cv_member *member, struct cv_instance *instance, cv_node from,
                       const struct cv_promise *promise)
{
    const uint64_t epoch = member->reported.epoch[from];
    const struct cv_promise *known = cv_promise_find(instance->told, promise->fence);
    struct cv_promise merged = known && known->known_in > epoch ? *known : *promise;
    merged.known_by = (known ? known->known_by : 0) | cv_set_of(from);
    if (known && merged.ttl_ms < known->ttl_ms) /* it was made longer, and not everybody has heard of it */
        merged.ttl_ms = known->ttl_ms;
    if (merged.ttl_ms < promise->ttl_ms)
        merged.ttl_ms = promise->ttl_ms;
    merged.forced = promise->forced || (known && known->forced);
    merged.known_in = known && known->known_in > epoch ? known->known_in : epoch;
    merged.acknowledged = false;
    cv_promise_put(&instance->told, &merged);
}

/* ---- which members remember ---- */

/* The members that were in that view (0: in any view) and have forgotten nothing since. */
static cv_set who_remembers(const struct view_promises *it, uint64_t epoch)
{
    cv_set who = 0;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(it->heard, node) && it->epoch[node] && (!epoch || it->epoch[node] == epoch))
            who |= cv_set_of(node);
    return who;
}

static bool meets_every_majority(cv_set who, cv_set voters)
{
    return cv_set_count(voters & ~who) <= cv_set_count(voters) / 2;
}

/*
 * Is one of them in every majority that may have known a promise? A witness remembers no promises, so in a group with
 * one all members of a view have to know each promise. Then any member of the last view is enough.
 */
static bool is_enough(const struct cv_member *member, cv_set who)
{
    const struct view_promises *it = &member->reported;
    if (!member->consensus)
        return true;
    const struct cv_seating *seating = &member->consensus->agreed_views.agreed.seating;
    const bool witnessed = member->consensus->protocol->witness != CV_NOBODY;
    for (cv_node node = 0; witnessed && node < member->roster.count; node++)
        if (cv_set_has(who, node) && it->epoch[node] == it->prior)
            return true;
    return !witnessed && meets_every_majority(who, seating->voters) && meets_every_majority(who, seating->former);
}

/* ---- what lives on ---- */

/* A promise has ended if its keeper no longer knows it, or if no member that must know it does. */
static bool has_ended(const struct cv_promise *promise, const struct cv_instance *instance, cv_set latest,
                      cv_set decisive)
{
    if (cv_set_has(latest, promise->keeper) && !cv_set_has(promise->known_by, promise->keeper))
        return true;
    if (decisive && !(promise->known_by & decisive))
        return true;
    return instance->holder != CV_NOBODY && instance->fence > promise->entry;
}

/* A writer enters after all other promises have ended, and so does a new generation of readers. */
static bool is_outdated(const struct cv_promise *promise, const struct cv_promise *all)
{
    for (const struct cv_promise *it = all; it; it = it->next)
        if (it->fence > promise->fence && (!promise->generation || it->generation != promise->generation))
            return true;
    return false;
}

static void drop_ended(struct cv_instance *instance, cv_set latest, cv_set decisive)
{
    for (struct cv_promise **at = &instance->told; *at;)
        if (has_ended(*at, instance, latest, decisive))
            cv_promise_drop(at);
        else
            at = &(*at)->next;
    for (struct cv_promise **at = &instance->told; *at;)
        if (is_outdated(*at, instance->told))
            cv_promise_drop(at);
        else
            at = &(*at)->next;
}

static cv_node next_after(cv_node node, cv_set members)
{
    do
        node = (node + 1) % CV_MAX_MEMBERS;
    while (!cv_set_has(members, node));
    return node;
}

/* Another member replaces a keeper that is gone or has forgotten. The keeper of a promise is inside. */
static void find_keeper(struct cv_instance *instance, struct cv_promise *promise, cv_set fit, cv_set members)
{
    const bool together =
        promise->generation && instance->holder != CV_NOBODY && instance->generation == promise->generation;
    if (!cv_set_has(fit, promise->keeper))
        promise->keeper = together ? instance->holder : next_after(promise->keeper, members);
    if (together) {
        instance->sharers |= cv_set_of(promise->keeper);
        return;
    }
    instance->holder = promise->keeper;
    instance->fence = promise->entry;
    instance->generation = promise->generation;
    instance->sharers = promise->generation ? cv_set_of(promise->keeper) : 0;
}

void view_promises_settle(struct cv_member *member)
{
    struct view_promises *it = &member->reported;
    uint64_t last = 0;
    if (!it->prepares || it->settled)
        return;
    it->settled = true;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        last = cv_set_has(it->heard, node) && it->epoch[node] > last ? it->epoch[node] : last;
    const cv_set all = who_remembers(it, 0), latest = last ? who_remembers(it, last) : 0;
    /* In `group static` each side of a partition had a view of its own. */
    const cv_set decisive = member->consensus && latest && is_enough(member, latest) ? latest : 0;
    if (!is_enough(member, all) && it->ceiling_ms > it->grace_ms)
        it->grace_ms = it->ceiling_ms;
    for (size_t i = 0; i < member->host.count; i++) {
        struct cv_instance *instance = member->host.all[i];
        drop_ended(instance, latest, decisive);
        for (struct cv_promise *promise = instance->told; promise; promise = promise->next)
            find_keeper(instance, promise, all & next_members(member), next_members(member));
    }
}

/* Readers that are still inside go on together, in a generation of the new view: cv_sharing_resume(). */
void view_promises_end(struct cv_member *member, const struct cv_view *view)
{
    struct view_promises *it = &member->reported;
    const uint64_t grace_us = it->grace_ms * 1000;
    uint64_t longest_ms = 0;
    for (size_t i = 0; i < member->host.count; i++) {
        struct cv_instance *instance = member->host.all[i];
        cv_promise_drop_all(&instance->promises);
        instance->promises = instance->told;
        instance->told = NULL;
        for (struct cv_promise *promise = instance->promises; promise; promise = promise->next) {
            longest_ms = promise->ttl_ms > longest_ms ? promise->ttl_ms : longest_ms;
            promise->generation = promise->generation ? cv_instance_first_fence(instance, view, member->roster.me) : 0;
        }
    }
    if (!grace_us)
        ttl_ceiling_settle(&member->ceiling, longest_ms);
    member->grace_until_us = 0;
    if (grace_us && member->consensus)
        member->grace_until_us = cv_loop_now() + cv_member_outlast_us(member, grace_us);
    it->grace_ms = 0;
}
