// SPDX-License-Identifier: MIT
#include "service/health.h"

#include <stdio.h>

#include "live/process/event_log.h"
#include "service/service.h"

static bool majority_is_missing(const struct cv_member *member, const struct cv_member_status *status,
                                char why[CV_HEALTH_BYTES])
{
    const cv_set voters = member->roster.voters, missing = voters & member->peers.suspected;
    char ids[CV_LOG_IDS_BYTES];
    if (status->witness && missing && status->witness_trouble)
        snprintf(why, CV_HEALTH_BYTES, "the other node does not answer, and the tie-breaker is of no use: %s",
                 status->witness_trouble);
    if (status->witness)
        return missing && status->witness_trouble;
    if (cv_majority(voters & ~missing, voters))
        return false;
    snprintf(why, CV_HEALTH_BYTES, "no majority: %u of %u voters do not answer this node (%.300s)",
             cv_set_count(missing), cv_set_count(voters), cv_log_ids(&member->roster, missing, ids));
    return true;
}

/* `status`: NULL if the group agrees on nothing. */
static const char *trouble_of(const struct cv_member *member, const struct cv_member_status *status)
{
    if (member->failed)
        return "the disk has failed";
    if (status && status->leaves)
        return "the node is leaving";
    if (status && status->trouble)
        return status->trouble;
    if (!member->begun)
        return status ? "the node has just started, and listens for the length of a lease first"
                      : "the node has just started, and waits for the others";
    if (status && status->witness && status->leader < 0)
        return "nothing is agreed yet: the first view is being made";
    if (status && status->leader < 0)
        return "no leader of the log is known: an election is under way";
    if (!member->host.view.epoch)
        return status ? "not in a view yet: the leader of the log has to take this node in"
                      : "not in a view yet: a coordinator is being elected";
    if (member->host.frozen)
        return "between two views: the next one is being prepared";
    if (status && status->witness)
        return "no lease: neither the other node nor the tie-breaker has renewed it";
    return "no lease: a majority has not renewed it";
}

bool cv_health(const struct cv_service *service, char why[CV_HEALTH_BYTES])
{
    const struct cv_member *member = service->member;
    struct cv_member_status told;
    const struct cv_member_status *status = cv_member_agrees(member) ? &told : NULL;
    *why = '\0';
    if (cv_member_serves(member) && !member->failed)
        return true;
    if (status)
        cv_member_status(member, &told);
    if (!status || !member->begun || !majority_is_missing(member, status, why))
        snprintf(why, CV_HEALTH_BYTES, "%s", trouble_of(member, status));
    return false;
}
