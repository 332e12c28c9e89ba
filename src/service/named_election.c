// SPDX-License-Identifier: MIT
/*
 * Elections by name that an algorithm decides: each node stands for the best of those of its candidates that wait, with
 * that one's priority as its attribute, and whoever is elected asks for the critical section. The election says who
 * shall lead next; being inside says who does, so that even while nodes disagree there is one. Who gets in and is not
 * the elected one any more leaves at once.
 */
#include "live/host/host_names.h"
#include "service/service.h"

/* The lowest priority is 1: 0 has who does not stand. */
static uint32_t attribute_of(const struct cv_lock *lock)
{
    return lock->first ? (uint32_t)(lock->first->priority + ((int64_t)1 << 31)) : 0;
}

static struct cv_instance *open_ballot(struct cv_lock *lock)
{
    if (!lock->ballot)
        lock->ballot = cv_host_open(lock->service->host, CV_SUBJECT_ELECTION, cv_instance_name(lock->instance));
    return lock->ballot;
}

void cv_named_election_update(struct cv_lock *lock)
{
    struct cv_service *service = lock->service;
    const cv_node me = service->host->roster->me;
    const uint32_t attribute = lock->balloted ? attribute_of(lock) : 0;
    if (!lock->balloted || (!lock->ballot && !attribute) || !open_ballot(lock) ||
        lock->ballot->attributes[me] == attribute)
        return;
    peer_notice_send(service, CV_NOBODY,
                     &(struct peer_notice){.kind = PEER_NOTICE_STANDS,
                                           .subject = CV_SUBJECT_ELECTION,
                                           .name = cv_instance_name(lock->instance),
                                           .attribute = attribute});
    cv_member_stand(service->member, lock->ballot, me, attribute);
}

bool cv_named_election_won(const struct cv_lock *lock)
{
    const struct cv_roster *roster = lock->service->host->roster;
    if (!lock->balloted)
        return true;
    return lock->ballot && lock->ballot->flags & CV_KNOWS && lock->ballot->leader == roster->ids[roster->me];
}

void cv_named_election_heard(struct cv_service *service, const struct peer_notice *notice)
{
    struct cv_lock *lock = cv_lock_open(service, CV_SUBJECT_LEADER, notice->name);
    if (lock && lock->balloted && open_ballot(lock))
        cv_member_stand(service->member, lock->ballot, notice->from, (uint32_t)notice->attribute);
}

void cv_named_election_elected(void *context, struct cv_instance *ballot)
{
    struct cv_lock *lock = cv_lock_find(context, CV_SUBJECT_LEADER, cv_instance_name(ballot));
    if (lock)
        cv_lock_serve(lock);
}
