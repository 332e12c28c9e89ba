// SPDX-License-Identifier: MIT
/*
 * Who leads, told to all members and by them to all who observe: every change, everywhere in the same order. That order
 * is the fences'. So that no change overtakes another, a node whose leader has ended hands the leadership on only when
 * all members of the view have said that they know. If the view ends before, the next one begins with what its members
 * report.
 */
#include "service/service.h"

static cv_set tell_all(const struct cv_lock *lock, const struct cv_leader *leader)
{
    return peer_notice_send(lock->service, CV_NOBODY,
                            &(struct peer_notice){.kind = leader->leads ? PEER_NOTICE_LEADS : PEER_NOTICE_LED,
                                                  .subject = CV_SUBJECT_LEADER,
                                                  .name = cv_instance_name(lock->instance),
                                                  .fence = leader->fence,
                                                  .session = leader->session,
                                                  .origin = leader->id});
}

void cv_leader_announce(struct cv_lock *lock, const struct cv_hold *hold, bool leads)
{
    const struct cv_leader leader = {.id = hold->origin, .leads = leads, .session = hold->owner, .fence = hold->fence};
    if (lock->instance->subject != CV_SUBJECT_LEADER || hold->confirming)
        return;
    cv_leader_learn(lock, &leader);
    const cv_set told = tell_all(lock, &leader);
    lock->unaware = leads ? 0 : told;
}

void cv_leader_learn(struct cv_lock *lock, const struct cv_leader *leader)
{
    const struct cv_leader *known = &lock->leader;
    if (leader->fence < known->fence || (leader->fence == known->fence && leader->leads >= known->leads))
        return;
    lock->leader = *leader;
    cv_session_observe(lock);
}

void cv_leader_heard(struct cv_service *service, const struct peer_notice *notice)
{
    const struct cv_leader leader = {.id = (cv_id)notice->origin,
                                     .leads = notice->kind == PEER_NOTICE_LEADS,
                                     .session = notice->session,
                                     .fence = notice->fence};
    struct cv_lock *lock = cv_lock_open(service, CV_SUBJECT_LEADER, notice->name);
    if (lock)
        cv_leader_learn(lock, &leader);
    if (!leader.leads)
        peer_notice_send(
            service, notice->from,
            &(struct peer_notice){
                .kind = PEER_NOTICE_KNOWS, .subject = CV_SUBJECT_LEADER, .name = notice->name, .fence = notice->fence});
}

void cv_leader_hear_known(struct cv_service *service, const struct peer_notice *notice)
{
    struct cv_lock *lock = cv_lock_find(service, CV_SUBJECT_LEADER, notice->name);
    if (!lock || notice->fence != lock->leader.fence || !cv_set_has(lock->unaware, notice->from))
        return;
    lock->unaware &= ~cv_set_of(notice->from);
    if (!lock->unaware)
        cv_lock_serve(lock);
}

/* Members that are new here have not heard who leads. And what was on its way when the last view ended may be lost. */
void cv_leader_resume(struct cv_lock *lock)
{
    struct cv_leader *leader = &lock->leader;
    const struct cv_roster *roster = lock->service->host->roster;
    const cv_node holder = lock->instance->holder;
    const bool mine = leader->id == roster->ids[roster->me];
    const bool inside = holder != CV_NOBODY && roster->ids[holder] == leader->id;
    const bool untold = lock->unaware && lock->instance->flags & CV_INSIDE;
    lock->unaware = 0;
    if (lock->holds)
        cv_leader_announce(lock, lock->holds, true);
    else if (leader->leads && !inside && !cv_ttl_find(lock, leader->fence))
        cv_leader_learn(lock, &(struct cv_leader){.id = leader->id, .fence = leader->fence});
    else if (mine && untold)
        lock->unaware = tell_all(lock, leader);
}
