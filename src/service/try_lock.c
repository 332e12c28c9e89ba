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
    peer_notice_send(service, CV_NOBODY,
                     &(struct peer_notice){.kind = PEER_NOTICE_TRY,
                                           .subject = lock->instance->subject,
                                           .name = cv_instance_name(lock->instance),
                                           .ticket = wait->ticket,
                                           .shared = wait->shared});
}

bool cv_try_lock_is_hopeless(const struct cv_lock *lock, bool shares)
{
    const struct cv_sharing *sharing = &lock->sharing;
    const bool held = lock->holds || lock->instance->flags & CV_INSIDE;
    const bool joins = shares && (sharing->shares || sharing->borrows) && !sharing->closed;
    return held && !(joins && (!lock->first || lock->first->shared));
}

void cv_try_lock_hear_question(struct cv_service *service, const struct peer_notice *notice)
{
    const struct cv_lock *lock = cv_lock_find(service, notice->subject, notice->name);
    if (lock && cv_try_lock_is_hopeless(lock, notice->shared))
        peer_notice_send(
            service, notice->from,
            &(struct peer_notice){
                .kind = PEER_NOTICE_BUSY, .subject = notice->subject, .name = notice->name, .ticket = notice->ticket});
}

void cv_try_lock_hear_answer(struct cv_service *service, const struct peer_notice *notice)
{
    const struct cv_lock *lock = cv_lock_find(service, notice->subject, notice->name);
    struct cv_wait *wait = lock ? lock->first : NULL;
    while (wait && !(wait->tries && wait->ticket == notice->ticket))
        wait = wait->next;
    if (wait)
        cv_session_in_vain(wait);
}
