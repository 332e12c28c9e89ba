// SPDX-License-Identifier: MIT
#include "service/ttl_promise.h"

#include "service/commands.h"
#include "service/exchange.h"
#include "service/hold_proof.h"
#include "service/lock.h"
#include "service/service.h"

struct cv_promise *ttl_promise_find(const struct lock *lock, uint64_t fence)
{
    return cv_promise_find(lock->instance->promises, fence);
}

bool ttl_promise_in_grace(const struct cv_service *service)
{
    return service->host->calls.now() < service->member->grace_until_us;
}

static bool is_known(const struct lock_hold *hold)
{
    return cv_member_is_enough(hold->lock->service->member, hold->aware);
}

static void note_aware(struct lock_hold *hold, cv_node node)
{
    hold->aware |= cv_set_of(node);
    if (!(hold->confirming || hold->wanted_ms) || !is_known(hold) || !cv_member_serves(hold->lock->service->member))
        return;
    if (hold->confirming) {
        lock_confirm(hold);
        return;
    }
    hold->ttl_ms = hold->wanted_ms;
    hold->wanted_ms = 0;
    peer_request_lengthened(hold, command_renew(hold));
}

static uint64_t promised_ms(const struct lock_hold *hold)
{
    return hold->wanted_ms ? hold->wanted_ms : hold->ttl_ms;
}

bool ttl_promise_make(struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    struct cv_member *member = lock->service->member;
    const cv_node me = member->roster.me;
    const struct cv_promise promise = {.fence = hold->fence,
                                       .ttl_ms = promised_ms(hold),
                                       .entry = lock->sharing.entry,
                                       .generation = hold->shared ? lock->sharing.generation : 0,
                                       .permits = hold->permits,
                                       .digest = {hold->digest[0], hold->digest[1]},
                                       .owner = hold->owner,
                                       .origin = hold->origin,
                                       .client = hold_client(hold),
                                       .value = hold->value,
                                       .forced = hold->forced,
                                       .draft = exchange_makes(hold),
                                       .keeper = me};
    if (!cv_promise_put(&lock->instance->promises, &promise))
        return false;
    claim_note(lock, promise.fence, promise.generation);
    hold->aware = 0;
    if (cv_host_ready(lock->service->host))
        lock_tell(lock, CV_NOBODY,
                  (struct peer_notice){.kind = PEER_NOTICE_PROMISE,
                                       .fence = promise.fence,
                                       .session = promise.owner,
                                       .generation = promise.generation,
                                       .permits = promise.permits,
                                       .entry = promise.entry,
                                       .ttl_ms = promise.ttl_ms,
                                       .digest = {promise.digest[0], promise.digest[1]},
                                       .client = cv_kept(promise.client),
                                       .value = cv_kept(promise.value)});
    if (cv_ttl_ceiling_covers(&member->ceiling, promise.ttl_ms))
        note_aware(hold, me);
    return true;
}

/* Members that do not hear of a shorter time take the longer one, if they come to keep the hold. */
int64_t ttl_promise_change(struct lock_hold *hold, uint64_t ttl_ms)
{
    if (hold->forced || hold->ending)
        return -1;
    if (ttl_ms > hold->ttl_ms) {
        if (hold->wanted_ms == ttl_ms)
            return TTL_PROMISE_LATER;
        hold->wanted_ms = ttl_ms;
        if (ttl_promise_make(hold))
            return hold->wanted_ms ? TTL_PROMISE_LATER : (int64_t)ttl_ms;
        hold->wanted_ms = 0;
        return -1;
    }
    const bool shorter = ttl_ms < hold->ttl_ms;
    hold->wanted_ms = 0;
    hold->ttl_ms = ttl_ms;
    if (shorter)
        ttl_promise_make(hold);
    return command_renew(hold);
}

static void forget(struct lock *lock, uint64_t fence)
{
    struct cv_promise **at = &lock->instance->promises;
    while (*at && (*at)->fence != fence)
        at = &(*at)->next;
    if (*at)
        cv_promise_drop(at);
}

void ttl_promise_end(const struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    if (!promised_ms(hold))
        return;
    forget(lock, hold->fence);
    if (cv_host_ready(lock->service->host))
        lock_tell(lock, CV_NOBODY, (struct peer_notice){.kind = PEER_NOTICE_OVER, .fence = hold->fence});
}

void ttl_promise_forced_known(struct lock_hold *hold, cv_node node)
{
    hold->aware_forced |= cv_set_of(node);
    if (!hold->forcing || hold->ending || !cv_member_is_enough(hold->lock->service->member, hold->aware_forced))
        return; /* or all are told when it has ended */
    hold->forcing = false;
    peer_request_known(hold, false);
}

void ttl_promise_forced(struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    struct cv_promise *promise = ttl_promise_find(lock, hold->fence);
    if (promise)
        promise->forced = true;
    claim_forced(lock, hold->fence);
    hold->forcing = true;
    hold->aware_forced = 0;
    if (cv_host_ready(lock->service->host))
        lock_tell(lock, CV_NOBODY, (struct peer_notice){.kind = PEER_NOTICE_FORCED, .fence = hold->fence});
    ttl_promise_forced_known(hold, lock->service->host->roster->me);
}

/* ---- what others say ---- */

static void acknowledge(struct lock *lock, struct cv_promise *promise)
{
    if (promise->acknowledged || !cv_ttl_ceiling_covers(&lock->service->member->ceiling, promise->ttl_ms))
        return;
    promise->acknowledged = true;
    lock_tell(lock, promise->keeper,
              (struct peer_notice){.kind = PEER_NOTICE_PROMISED, .fence = promise->fence, .ttl_ms = promise->ttl_ms});
}

void ttl_promise_hear(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_open(service, notice->subject, notice->name);
    struct cv_promise promise = {.fence = notice->fence,
                                 .ttl_ms = notice->ttl_ms,
                                 .entry = notice->entry,
                                 .generation = notice->generation,
                                 .permits = notice->permits,
                                 .digest = {notice->digest[0], notice->digest[1]},
                                 .owner = notice->session,
                                 .origin = service->host->roster->ids[notice->from],
                                 .keeper = notice->from};
    if (lock && notice->client.start)
        promise.client = cv_keep_text(notice->client);
    if (lock && notice->value.start)
        promise.value = cv_keep_text(notice->value);
    const struct cv_promise *before = lock ? ttl_promise_find(lock, notice->fence) : NULL;
    promise.forced = before && before->forced;
    const bool whole = !notice->value.start || promise.value; /* the value is a part of the promise */
    struct cv_promise *known = lock && whole ? cv_promise_put(&lock->instance->promises, &promise) : NULL;
    cv_drop_text(&promise.client);
    cv_drop_text(&promise.value);
    if (!known)
        return;
    acknowledge(lock, known);
    claim_note(lock, known->fence, known->generation);
    if (lock->first && lock->first->claimed)
        lock_serve(lock); /* that claim may be lost */
}

void ttl_promise_hear_known(struct cv_service *service, const struct peer_notice *notice)
{
    const struct lock *lock = lock_find(service, notice->subject, notice->name);
    struct lock_hold *hold = lock ? lock_find_hold(lock, notice->fence) : NULL;
    if (hold && notice->ttl_ms >= promised_ms(hold)) /* not the answer to an earlier, shorter promise */
        note_aware(hold, notice->from);
}

void ttl_promise_hear_over(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_find(service, notice->subject, notice->name);
    const struct cv_promise *known = lock ? ttl_promise_find(lock, notice->fence) : NULL;
    if (known && known->keeper == notice->from) {
        forget(lock, notice->fence);
        hold_proof_over(lock, notice->fence);
    }
}

static void look_again(struct lock *lock)
{
    const cv_node me = lock->service->host->roster->me;
    for (struct cv_promise *it = lock->instance->promises, *next; it; it = next) {
        next = it->next;
        struct lock_hold *hold = it->keeper == me ? lock_find_hold(lock, it->fence) : NULL;
        if (it->keeper != me)
            acknowledge(lock, it);
        else if (hold && (hold->confirming || hold->wanted_ms) &&
                 cv_ttl_ceiling_covers(&lock->service->member->ceiling, promised_ms(hold)))
            note_aware(hold, me);
    }
}

void ttl_promise_covered(void *context)
{
    const struct cv_service *service = context;
    for (size_t i = 0; cv_host_ready(service->host) && i < service->host->count; i++)
        if (service->host->all[i]->promises && service->host->all[i]->user)
            look_again(service->host->all[i]->user);
}

/* ---- views ---- */

void ttl_promise_inherit(struct lock *lock)
{
    for (const struct cv_promise *it = lock->instance->promises; it; it = it->next)
        if (it->keeper == lock->service->host->roster->me && !lock_find_hold(lock, it->fence))
            lock_inherit(lock, it);
}

/* The promise may have reached others, in a view that this node is not in: they are asked to end it. */
void ttl_promise_withdraw(struct lock_hold *hold)
{
    lock_tell(hold->lock, CV_NOBODY,
              (struct peer_notice){.kind = PEER_NOTICE_UNLOCK,
                                   .fence = hold->fence,
                                   .hold_kinds = HOLD_LOCK | HOLD_LEADER,
                                   .digest = {hold->digest[0], hold->digest[1]}});
}
