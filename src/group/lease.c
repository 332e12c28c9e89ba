// SPDX-License-Identifier: MIT
#include "group/lease.h"

void cv_lease_init(struct cv_lease *lease, const struct cv_lease_terms *terms, cv_set voters)
{
    *lease = (struct cv_lease){.terms = *terms, .voters = voters};
}

void cv_lease_granted(struct cv_lease *lease, cv_node voter, uint64_t asked_us)
{
    if (lease->asked_us[voter] < asked_us)
        lease->asked_us[voter] = asked_us;
}

/* The latest time such that a majority has granted what was asked then or later. */
uint64_t cv_lease_end(const struct cv_lease *lease)
{
    uint64_t best = 0;
    for (cv_node voter = 0; voter < CV_MAX_MEMBERS; voter++) {
        cv_set as_late = 0;
        const uint64_t asked = lease->asked_us[voter];
        if (!cv_set_has(lease->voters, voter) || asked <= best)
            continue;
        for (cv_node other = 0; other < CV_MAX_MEMBERS; other++)
            if (lease->asked_us[other] >= asked)
                as_late |= cv_set_of(other);
        if (cv_majority(as_late, lease->voters))
            best = asked;
    }
    return best ? best + cv_lease_short(&lease->terms, lease->terms.length_us) : 0;
}

void cv_grants_init(struct cv_grants *grants, const struct cv_lease_terms *terms, bool returns, uint64_t now_us)
{
    *grants = (struct cv_grants){.terms = *terms};
    if (returns)
        grants->unknown_until_us = now_us + cv_lease_long(terms, terms->length_us);
}

void cv_grants_learn(struct cv_grants *grants, uint64_t epoch, cv_set members)
{
    grants->epoch = epoch;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        if (!cv_set_has(members, node))
            grants->since[node] = 0;
        else if (!grants->since[node])
            grants->since[node] = epoch;
    }
}

bool cv_grants_ask(struct cv_grants *grants, cv_node member, uint64_t epoch, uint64_t now_us)
{
    const uint64_t since = grants->since[member];
    if (!since || epoch < since || epoch > grants->epoch)
        return false;
    grants->until_us[member] = now_us + cv_lease_long(&grants->terms, grants->terms.length_us);
    return true;
}

uint64_t cv_grants_left(const struct cv_grants *grants, cv_set members, uint64_t now_us)
{
    uint64_t until = now_us;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        if (!cv_set_has(members, node))
            continue;
        const uint64_t one =
            grants->until_us[node] > grants->unknown_until_us ? grants->until_us[node] : grants->unknown_until_us;
        if (one > until)
            until = one;
    }
    return until - now_us;
}
