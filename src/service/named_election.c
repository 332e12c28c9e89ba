// SPDX-License-Identifier: MIT
#include "service/named_election.h"

#include "live/host/host_names.h"
#include "service/lock.h"
#include "service/service.h"
#include "service/ttl_promise.h"

/*
 * The lowest priority is 1; 0 means that the node does not stand. In a time of grace only clients that claim what they
 * held may lead, so no other stands.
 */
static uint32_t attribute_of(const struct lock *lock)
{
    const struct waiter *first = lock->first;
    if (!first || (!first->claimed && ttl_promise_in_grace(lock->service)))
        return 0;
    return first->claimed ? UINT32_MAX : (uint32_t)(first->priority + ((int64_t)1 << 31));
}

static struct cv_instance *open_election(struct lock *lock)
{
    if (!lock->election)
        lock->election = cv_host_open(lock->service->host, CV_SUBJECT_ELECTION, cv_instance_name(lock->instance));
    return lock->election;
}

void named_election_update(struct lock *lock)
{
    struct cv_service *service = lock->service;
    const cv_node me = service->host->roster->me;
    const uint32_t attribute = lock->elects ? attribute_of(lock) : 0;
    if (!lock->elects || (!lock->election && !attribute) || !open_election(lock) ||
        lock->election->attributes[me] == attribute)
        return;
    peer_notice_send(service, CV_NOBODY,
                     &(struct peer_notice){.kind = PEER_NOTICE_STANDS,
                                           .subject = CV_SUBJECT_ELECTION,
                                           .name = cv_instance_name(lock->instance),
                                           .attribute = attribute});
    cv_member_stand(service->member, lock->election, me, attribute);
}

bool named_election_won(const struct lock *lock)
{
    const struct cv_roster *roster = lock->service->host->roster;
    if (!lock->elects)
        return true;
    return lock->election && lock->election->flags & CV_KNOWS && lock->election->leader == roster->ids[roster->me];
}

void named_election_hear(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_open(service, CV_SUBJECT_LEADER, notice->name);
    if (lock && lock->elects && open_election(lock))
        cv_member_stand(service->member, lock->election, notice->from, (uint32_t)notice->attribute);
}

void named_election_elected(void *context, struct cv_instance *election)
{
    struct lock *lock = lock_find(context, CV_SUBJECT_LEADER, cv_instance_name(election));
    if (lock)
        lock_serve(lock);
}
