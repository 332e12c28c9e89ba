// SPDX-License-Identifier: MIT
/*
 * Holds with a time to live outlast their node: each is deposited with the next member of the view, its guardian. If
 * the node is gone in the next view, the guardian reports the hold, and keeps it from then on: for its whole time to
 * live, since nobody knows when it was renewed last. Whoever knows the fence renews or ends it by any member, as
 * before. A deposit that was not taken back in time does no harm but to last that long.
 */
#include <stdlib.h>

#include "service/service.h"

static cv_node guardian_of(const struct cv_service *service)
{
    const struct cv_roster *roster = service->host->roster;
    cv_node node = roster->me;
    do
        node = (node + 1) % roster->count;
    while (node != roster->me && !cv_set_has(service->host->view.members, node));
    return node;
}

static void tell(const struct cv_hold *hold, enum cv_notice_kind kind)
{
    const struct cv_lock *lock = hold->lock;
    const cv_node guardian = guardian_of(lock->service);
    if (guardian != lock->service->host->roster->me && hold->ttl_ms && cv_host_ready(lock->service->host))
        cv_member_notify(lock->service->member, guardian, lock->instance->subject, cv_instance_name(lock->instance),
                         &(struct cv_notice){.kind = kind,
                                             .session = lock->lending.entry,
                                             .fence = hold->fence,
                                             .value = hold->ttl_ms,
                                             .generation = hold->shared ? lock->lending.generation : 0});
}

void cv_deposit_make(const struct cv_hold *hold)
{
    tell(hold, CV_NOTICE_DEPOSIT);
}

void cv_deposit_take_back(const struct cv_hold *hold)
{
    tell(hold, CV_NOTICE_TAKE_BACK);
}

static void forget(struct cv_lock *lock, cv_node node, uint64_t fence)
{
    struct cv_deposit **at = &lock->instance->deposits;
    while (*at && ((*at)->node != node || (*at)->fence != fence))
        at = &(*at)->next;
    if (*at)
        cv_host_drop_deposit(at);
}

/* Without memory there is none, and the hold ends with its node. */
void cv_deposit_heard(struct cv_lock *lock, cv_node from, const struct cv_notice *notice)
{
    struct cv_deposit *deposit = notice->kind == CV_NOTICE_DEPOSIT ? malloc(sizeof *deposit) : NULL;
    if (notice->kind == CV_NOTICE_TAKE_BACK)
        forget(lock, from, notice->fence);
    if (!deposit)
        return;
    *deposit = (struct cv_deposit){.next = lock->instance->deposits,
                                   .node = from,
                                   .fence = notice->fence,
                                   .ttl_ms = notice->value,
                                   .entry = notice->session,
                                   .generation = notice->generation};
    lock->instance->deposits = deposit;
}

static bool is_inherited(const struct cv_instance *instance, const struct cv_deposit *deposit)
{
    const cv_node me = instance->host->roster->me;
    const bool inside = deposit->generation ? cv_set_has(instance->sharers, me) : instance->holder == me;
    return inside && deposit->entry == instance->fence && !cv_set_has(instance->host->view.members, deposit->node);
}

void cv_deposit_inherit(struct cv_lock *lock)
{
    struct cv_instance *instance = lock->instance;
    while (instance->deposits) {
        const struct cv_deposit deposit = *instance->deposits;
        const bool fits = deposit.generation ? !lock->holds || lock->holds->shared : !lock->holds;
        if (is_inherited(instance, &deposit) && fits)
            cv_lock_inherit(lock, deposit.fence, deposit.ttl_ms, deposit.generation);
        cv_host_drop_deposit(&instance->deposits);
    }
}

void cv_deposit_resume(const struct cv_lock *lock)
{
    for (const struct cv_hold *hold = lock->holds; hold; hold = hold->next)
        cv_deposit_make(hold);
}
