// SPDX-License-Identifier: MIT
#include "service/claim.h"

#include "service/session.h"
#include "service/ttl_promise.h"

/* What a client held without a secret ended with its connection. */
bool claim_is_allowed(const struct session *session, const struct peer_request_order *order)
{
    return order->renews && order->ttl_ms && (order->digest[0] | order->digest[1]) &&
           ttl_promise_in_grace(session->service);
}

void claim_begin(struct session *session, struct cv_text name, const struct peer_request_order *order)
{
    struct cv_service *service = session->service;
    struct waiter *wait = &session->wait;
    const enum cv_subject subject = order->kinds & HOLD_LOCK ? CV_SUBJECT_LOCK : CV_SUBJECT_LEADER;
    struct lock *lock = lock_open(service, subject, name);
    peer_request_drop(session);
    if (!lock || order->fence >= service->host->view.base) {
        peer_request_answer(session, order, -1); /* the fence is of a view that has yet to begin */
        return;
    }
    *wait = (struct waiter){.alarm = wait->alarm,
                            .session = session,
                            .value = wait->value,
                            .ttl_ms = order->ttl_ms,
                            .priority = INT64_MAX, /* before clients that claim nothing */
                            .digest = {order->digest[0], order->digest[1]},
                            .claimed = order->fence,
                            .shared = order->shared || order->permits,
                            .permits = order->permits};
    lock_wait(lock, wait);
    /* The client counts its time from when it asked. */
    const uint64_t over_us = service->host->calls.now() + order->ttl_ms * 1000;
    const uint64_t until_us = service->member->grace_until_us;
    if (wait->lock || session->granting)
        cv_alarm_set(service->alarms, &wait->alarm, over_us < until_us ? over_us : until_us);
}

void claim_note(struct lock *lock, uint64_t fence, bool shared)
{
    struct claims *claims = &lock->claims;
    if (!ttl_promise_in_grace(lock->service))
        return;
    if (claims->highest < fence)
        claims->highest = fence;
    if (!shared && claims->highest_alone < fence)
        claims->highest_alone = fence;
}

void claim_forced(struct lock *lock, uint64_t fence)
{
    if (ttl_promise_in_grace(lock->service))
        lock->claims.forced = fence;
}

/* Readers have fences in no order, but above those of all writers before. */
bool claim_is_lost(const struct lock *lock, const struct waiter *wait)
{
    uint64_t together = 0;
    if (wait->claimed < (wait->shared ? lock->claims.highest_alone : lock->claims.highest) ||
        wait->claimed == lock->claims.forced)
        return true;
    for (const struct cv_promise *it = lock->instance->promises; it; it = it->next) {
        if (it->fence == wait->claimed ? it->forced : !(it->generation && wait->shared && it->permits == wait->permits))
            return true;
        together += it->fence != wait->claimed;
    }
    return wait->permits && together >= wait->permits;
}

bool claim_is_remembered(const struct lock *lock)
{
    return (lock->claims.highest || lock->claims.forced) && ttl_promise_in_grace(lock->service);
}
