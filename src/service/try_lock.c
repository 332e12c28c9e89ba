// SPDX-License-Identifier: MIT
/*
 * A try, WAIT 0. What the algorithms have is a request that is granted in the end, and no way to withdraw it: to be
 * told no takes somebody who is inside and says so. So whoever tries asks the algorithm as everybody does, and all
 * members whether they are inside; the first yes ends the try, after one round trip. If nobody is, the entry comes as
 * fast as the algorithm can; if neither comes, since the section is being handed over, twice the bound of a message is
 * enough.
 */
#include "service/service.h"

void cv_try_lock_ask(struct cv_wait *wait)
{
    const struct cv_lock *lock = wait->lock;
    struct cv_service *service = lock->service;
    wait->ticket = ++service->errands;
    cv_member_notify(service->member, CV_NOBODY, lock->instance->subject, cv_instance_name(lock->instance),
                     &(struct cv_notice){.kind = CV_NOTICE_TRY, .session = wait->ticket, .value = wait->shared});
}

bool cv_try_lock_is_hopeless(const struct cv_lock *lock, bool shares)
{
    const struct cv_sharing *sharing = &lock->sharing;
    const bool held = lock->holds || lock->instance->flags & CV_INSIDE;
    const bool joins = shares && (sharing->shares || sharing->borrows) && !sharing->closed;
    return held && !(joins && (!lock->first || lock->first->shared));
}

void cv_try_lock_heard(struct cv_service *service, cv_node from, enum cv_subject subject, struct cv_text name,
                       const struct cv_notice *notice)
{
    const struct cv_lock *lock = cv_lock_find(service, subject, name);
    if (!lock)
        return;
    if (notice->kind == CV_NOTICE_TRY) {
        if (cv_try_lock_is_hopeless(lock, notice->value))
            cv_member_notify(service->member, from, subject, name,
                             &(struct cv_notice){.kind = CV_NOTICE_BUSY, .session = notice->session});
        return;
    }
    struct cv_wait *wait = lock->first;
    while (wait && !(wait->tries && wait->ticket == notice->session))
        wait = wait->next;
    if (wait)
        cv_session_in_vain(wait);
}
