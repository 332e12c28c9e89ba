// SPDX-License-Identifier: MIT
#include "service/leader.h"

#include "service/lock.h"
#include "service/observers.h"
#include "service/ttl_promise.h"

static cv_set tell_all(const struct lock *lock, const struct leader *leader)
{
    return lock_tell(lock, CV_NOBODY,
                     (struct peer_notice){.kind = leader->leads ? PEER_NOTICE_LEADS : PEER_NOTICE_LED,
                                          .fence = leader->fence,
                                          .session = leader->session,
                                          .origin = leader->id,
                                          .value = cv_kept(leader->value)});
}

/* Takes over the news if it is later than what is known: its fence tells. */
static void learn(struct lock *lock, const struct leader *leader)
{
    struct leader *known = &lock->leader;
    if (leader->fence < known->fence || (leader->fence == known->fence && leader->leads >= known->leads))
        return;
    cv_share_text(leader->value);
    cv_drop_text(&known->value);
    *known = *leader;
    observers_tell(lock);
}

void leader_announce(struct lock *lock, const struct lock_hold *hold, bool leads)
{
    const struct leader leader = {.id = hold->origin,
                                  .leads = leads,
                                  .session = hold->owner,
                                  .fence = hold->fence,
                                  .value = leads ? hold->value : NULL};
    if (lock->instance->subject != CV_SUBJECT_LEADER || hold->confirming)
        return;
    learn(lock, &leader);
    const cv_set told = tell_all(lock, &leader);
    lock->unaware = leads ? 0 : told;
}

/* Without memory for the value its leader is known without it. */
void leader_hear_change(struct cv_service *service, const struct peer_notice *notice)
{
    struct leader leader = {.id = (cv_id)notice->origin,
                            .leads = notice->kind == PEER_NOTICE_LEADS,
                            .session = notice->session,
                            .fence = notice->fence};
    struct lock *lock = lock_open(service, CV_SUBJECT_LEADER, notice->name);
    if (lock && notice->value.start)
        leader.value = cv_keep_text(notice->value);
    if (lock)
        learn(lock, &leader);
    cv_drop_text(&leader.value);
    if (!leader.leads)
        peer_notice_send(
            service, notice->from,
            &(struct peer_notice){
                .kind = PEER_NOTICE_KNOWS, .subject = CV_SUBJECT_LEADER, .name = notice->name, .fence = notice->fence});
}

void leader_hear_known(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_find(service, CV_SUBJECT_LEADER, notice->name);
    if (!lock || notice->fence != lock->leader.fence || !cv_set_has(lock->unaware, notice->from))
        return;
    lock->unaware &= ~cv_set_of(notice->from);
    if (!lock->unaware)
        lock_serve(lock);
}

void leader_forget(struct lock *lock)
{
    cv_drop_text(&lock->leader.value);
}

/* New members have not heard who leads. And a notice that was on its way when the last view ended may be lost. */
void leader_resume(struct lock *lock)
{
    struct leader *leader = &lock->leader;
    const struct cv_roster *roster = lock->service->host->roster;
    const cv_node holder = lock->instance->holder;
    const bool mine = leader->id == roster->ids[roster->me];
    const bool inside = holder != CV_NOBODY && roster->ids[holder] == leader->id;
    const bool untold = lock->unaware && lock->instance->flags & CV_INSIDE;
    lock->unaware = 0;
    if (lock->holds)
        leader_announce(lock, lock->holds, true);
    else if (leader->leads && !inside && !ttl_promise_find(lock, leader->fence))
        learn(lock, &(struct leader){.id = leader->id, .fence = leader->fence});
    else if (mine && untold)
        lock->unaware = tell_all(lock, leader);
}
