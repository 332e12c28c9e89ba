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
    return cv_member_notify(lock->service->member, CV_NOBODY, CV_SUBJECT_LEADER, cv_instance_name(lock->instance),
                            &(struct cv_notice){.kind = leader->leads ? CV_NOTICE_LEADS : CV_NOTICE_LED,
                                                .session = leader->session,
                                                .fence = leader->fence,
                                                .owner = leader->id});
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

void cv_leader_heard(struct cv_service *service, cv_node from, struct cv_text name, const struct cv_notice *notice)
{
    const struct cv_leader leader = {.id = (cv_id)notice->owner,
                                     .leads = notice->kind == CV_NOTICE_LEADS,
                                     .session = notice->session,
                                     .fence = notice->fence};
    struct cv_lock *lock = cv_lock_open(service, CV_SUBJECT_LEADER, name);
    if (lock)
        cv_leader_learn(lock, &leader);
    if (!leader.leads)
        cv_member_notify(service->member, from, CV_SUBJECT_LEADER, name,
                         &(struct cv_notice){.kind = CV_NOTICE_KNOWS, .fence = notice->fence});
}

void cv_leader_known(struct cv_lock *lock, cv_node to, uint64_t fence)
{
    if (fence != lock->leader.fence || !cv_set_has(lock->unaware, to))
        return;
    lock->unaware &= ~cv_set_of(to);
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
