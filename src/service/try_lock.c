// SPDX-License-Identifier: MIT
#include "service/try_lock.h"

#include "service/lock.h"
#include "service/session.h"

void try_lock_ask(struct waiter *wait)
{
    const struct lock *lock = wait->lock;
    struct cv_service *service = lock->service;
    wait->ticket = ++service->tickets;
    lock_tell(lock, CV_NOBODY,
              (struct peer_notice){.kind = PEER_NOTICE_TRY, .ticket = wait->ticket, .shared = wait->shared});
}

bool try_lock_is_hopeless(const struct lock *lock, bool shares)
{
    const bool inside = lock->instance->flags & CV_INSIDE;
    const bool held = lock->holds || inside;
    const bool joins = shares && sharing_has_room(&lock->sharing, inside, lock->holding);
    return held && !(joins && (!lock->first || lock->first->shared));
}

void try_lock_hear_question(struct cv_service *service, const struct peer_notice *notice)
{
    const struct lock *lock = lock_find(service, notice->subject, notice->name);
    if (lock && try_lock_is_hopeless(lock, notice->shared))
        peer_notice_send(
            service, notice->from,
            &(struct peer_notice){
                .kind = PEER_NOTICE_BUSY, .subject = notice->subject, .name = notice->name, .ticket = notice->ticket});
}

void try_lock_hear_answer(struct cv_service *service, const struct peer_notice *notice)
{
    const struct lock *lock = lock_find(service, notice->subject, notice->name);
    struct waiter *wait = lock ? lock->first : NULL;
    while (wait && !(wait->tries && wait->ticket == notice->ticket))
        wait = wait->next;
    if (wait)
        session_timed_out(wait);
}
