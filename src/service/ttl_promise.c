// SPDX-License-Identifier: MIT
/*
 * Holds with a time to live outlast their node. Before a client is told that it has one, a majority of the voters knows
 * it (live/view_promises.c): one round trip more, no disk, no consensus. Only its keeper counts its time: the node that
 * granted it, as long as that is in the view, then another member, for the whole time to live from when its view began,
 * since nobody else knows when it was renewed last. So a renewal is answered by the keeper alone: what it has told,
 * with its lease in hand, was told before any view without it began.
 */
#include "service/service.h"

struct cv_promise *cv_ttl_find(const struct cv_lock *lock, uint64_t fence)
{
    return cv_promise_find(lock->instance->promises, fence);
}

bool cv_ttl_in_grace(const struct cv_service *service)
{
    return service->host->calls.now() < service->member->grace_until_us;
}

static cv_set tell(const struct cv_lock *lock, cv_node to, const struct cv_notice *notice)
{
    return cv_member_notify(lock->service->member, to, lock->instance->subject, cv_instance_name(lock->instance),
                            notice);
}

/* Do enough know it? A file that breaks a tie cannot, so then all members have to. */
static bool is_known(const struct cv_hold *hold)
{
    const struct cv_member *member = hold->lock->service->member;
    const struct cv_consensus *consensus = member->consensus;
    if (consensus && consensus->tie_breaker)
        return !(member->host.view.members & ~hold->aware);
    return !consensus || cv_majority(hold->aware, consensus->lease.voters);
}

static void note_aware(struct cv_hold *hold, cv_node node)
{
    hold->aware |= cv_set_of(node);
    if (hold->confirming && is_known(hold) && cv_member_serves(hold->lock->service->member))
        cv_lock_confirm(hold);
}

/* Without memory nobody is told, and the client goes on waiting until it gives up. */
void cv_ttl_promise(struct cv_hold *hold)
{
    struct cv_lock *lock = hold->lock;
    struct cv_member *member = lock->service->member;
    const cv_node me = member->roster.me;
    const struct cv_promise promise = {.fence = hold->fence,
                                       .ttl_ms = hold->ttl_ms,
                                       .entry = lock->sharing.entry,
                                       .generation = hold->shared ? lock->sharing.generation : 0,
                                       .digest = {hold->digest[0], hold->digest[1]},
                                       .owner = hold->owner,
                                       .origin = hold->origin,
                                       .keeper = me};
    if (!cv_promise_put(&lock->instance->promises, &promise))
        return;
    hold->aware = 0;
    if (cv_host_ready(lock->service->host))
        tell(lock, CV_NOBODY,
             &(struct cv_notice){.kind = CV_NOTICE_PROMISE,
                                 .session = promise.entry,
                                 .fence = promise.fence,
                                 .value = promise.ttl_ms,
                                 .generation = promise.generation,
                                 .digest = {promise.digest[0], promise.digest[1]},
                                 .owner = promise.owner});
    if (cv_ttl_ceiling_covers(&member->ceiling, hold->ttl_ms))
        note_aware(hold, me);
}

static void forget(struct cv_lock *lock, uint64_t fence)
{
    struct cv_promise **at = &lock->instance->promises;
    while (*at && (*at)->fence != fence)
        at = &(*at)->next;
    if (*at)
        cv_promise_drop(at);
}

void cv_ttl_end(const struct cv_hold *hold)
{
    struct cv_lock *lock = hold->lock;
    if (!hold->ttl_ms)
        return;
    forget(lock, hold->fence);
    if (cv_host_ready(lock->service->host))
        tell(lock, CV_NOBODY, &(struct cv_notice){.kind = CV_NOTICE_OVER, .fence = hold->fence});
}

/* ---- what others say ---- */

static void acknowledge(struct cv_lock *lock, struct cv_promise *promise)
{
    if (promise->acknowledged || !cv_ttl_ceiling_covers(&lock->service->member->ceiling, promise->ttl_ms))
        return;
    promise->acknowledged = true;
    tell(lock, promise->keeper, &(struct cv_notice){.kind = CV_NOTICE_PROMISED, .fence = promise->fence});
}

static void on_promise(struct cv_lock *lock, cv_node from, const struct cv_notice *notice)
{
    struct cv_promise *known =
        cv_promise_put(&lock->instance->promises, &(struct cv_promise){.fence = notice->fence,
                                                                       .ttl_ms = notice->value,
                                                                       .entry = notice->session,
                                                                       .generation = notice->generation,
                                                                       .digest = {notice->digest[0], notice->digest[1]},
                                                                       .owner = notice->owner,
                                                                       .origin = lock->service->host->roster->ids[from],
                                                                       .keeper = from});
    if (known)
        acknowledge(lock, known);
}

void cv_ttl_heard(struct cv_service *service, cv_node from, enum cv_subject subject, struct cv_text name,
                  const struct cv_notice *notice)
{
    struct cv_lock *lock =
        notice->kind == CV_NOTICE_PROMISE ? cv_lock_open(service, subject, name) : cv_lock_find(service, subject, name);
    struct cv_hold *hold = lock && notice->kind == CV_NOTICE_PROMISED ? cv_lock_hold(lock, notice->fence) : NULL;
    const struct cv_promise *known = lock && notice->kind == CV_NOTICE_OVER ? cv_ttl_find(lock, notice->fence) : NULL;
    if (lock && notice->kind == CV_NOTICE_PROMISE)
        on_promise(lock, from, notice);
    else if (hold)
        note_aware(hold, from);
    else if (known && known->keeper == from)
        forget(lock, notice->fence);
}

static void look_again(struct cv_lock *lock)
{
    const cv_node me = lock->service->host->roster->me;
    for (struct cv_promise *it = lock->instance->promises, *next; it; it = next) {
        next = it->next;
        struct cv_hold *hold = it->keeper == me ? cv_lock_hold(lock, it->fence) : NULL;
        if (it->keeper != me)
            acknowledge(lock, it);
        else if (hold && hold->confirming && cv_ttl_ceiling_covers(&lock->service->member->ceiling, hold->ttl_ms))
            note_aware(hold, me);
    }
}

void cv_ttl_covered(void *context)
{
    const struct cv_service *service = context;
    for (size_t i = 0; cv_host_ready(service->host) && i < service->host->count; i++)
        if (service->host->all[i]->promises && service->host->all[i]->user)
            look_again(service->host->all[i]->user);
}

/* ---- views ---- */

void cv_ttl_inherit(struct cv_lock *lock)
{
    for (const struct cv_promise *it = lock->instance->promises; it; it = it->next)
        if (it->keeper == lock->service->host->roster->me && !cv_lock_hold(lock, it->fence))
            cv_lock_inherit(lock, it);
}

/* It may have reached others, in a view that this node is not in: they are asked to end it. */
void cv_ttl_take_back(struct cv_hold *hold)
{
    tell(hold->lock, CV_NOBODY,
         &(struct cv_notice){.kind = CV_NOTICE_UNLOCK,
                             .fence = hold->fence,
                             .value = CV_HOLD_LOCK | CV_HOLD_LEADER,
                             .digest = {hold->digest[0], hold->digest[1]}});
}
