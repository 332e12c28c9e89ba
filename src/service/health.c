// SPDX-License-Identifier: MIT
/* Whether the node can grant anything, and if it cannot, why: for /healthz, the service manager and the doctor. */
#include <stdio.h>

#include "live/process/event_log.h"
#include "service/numbers.h"

static bool majority_is_missing(const struct cv_member *member, char why[CV_HEALTH_BYTES])
{
    const cv_set voters = member->roster.voters, missing = voters & member->peers.suspected;
    const struct cv_tie_breaker *tie_breaker = member->consensus->tie_breaker;
    const char *trouble = tie_breaker ? cv_tie_breaker_trouble(tie_breaker) : NULL;
    char ids[CV_LOG_IDS_BYTES];
    if (tie_breaker && missing && trouble)
        snprintf(why, CV_HEALTH_BYTES, "the other node does not answer, and the tie-breaker is of no use: %s", trouble);
    if (tie_breaker)
        return missing && trouble;
    if (cv_majority(voters & ~missing, voters))
        return false;
    snprintf(why, CV_HEALTH_BYTES, "no majority: %u of %u voters do not answer this node (%.300s)",
             cv_set_count(missing), cv_set_count(voters), cv_log_ids(&member->roster, missing, ids));
    return true;
}

static const char *trouble_of(const struct cv_member *member)
{
    const struct cv_consensus *consensus = member->consensus;
    if (member->failed)
        return "the disk has failed";
    if (consensus && consensus->gone)
        return "the node is leaving";
    if (consensus && (*consensus->refused || (consensus->founding && *consensus->waits)))
        return *consensus->refused ? consensus->refused : consensus->waits;
    if (!member->begun)
        return consensus ? "the node has just started, and listens for the length of a lease first"
                         : "the node has just started, and waits for the others";
    if (consensus && consensus->tie_breaker && !consensus->leader)
        return "nothing is agreed yet: the first view is on its way";
    if (consensus && !consensus->leader)
        return "nobody is known to lead the log: an election is on its way";
    if (!member->host.view.epoch)
        return consensus ? "not in a view yet: the leader of the log has to take this node in"
                         : "not in a view yet: a coordinator is being elected";
    if (member->host.frozen)
        return "between two views: the next one is being prepared";
    if (consensus && consensus->tie_breaker)
        return "no lease: neither the other node nor the tie-breaker has renewed it";
    return "no lease: a majority has not renewed it";
}

bool cv_health(const struct cv_service *service, char why[CV_HEALTH_BYTES])
{
    const struct cv_member *member = service->member;
    *why = '\0';
    if (cv_member_serves(member) && !member->failed)
        return true;
    if (!member->consensus || !member->begun || !majority_is_missing(member, why))
        snprintf(why, CV_HEALTH_BYTES, "%s", trouble_of(member));
    return false;
}
