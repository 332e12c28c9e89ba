// SPDX-License-Identifier: MIT
#include "group/lease.h"

void cv_lease_init(struct cv_lease *lease, const struct cv_lease_terms *terms, cv_set voters)
{
    *lease = (struct cv_lease){.terms = *terms, .voters = voters};
}

/* A longer lease that was granted before stays. */
void cv_lease_granted(struct cv_lease *lease, cv_node voter, uint64_t asked_us, uint64_t length_us)
{
    const uint64_t until_us = asked_us + cv_lease_short(&lease->terms, length_us);
    if (lease->asked_us[voter] < asked_us)
        lease->asked_us[voter] = asked_us;
    if (lease->until_us[voter] < until_us)
        lease->until_us[voter] = until_us;
}

void cv_lease_forget(struct cv_lease *lease, cv_node voter)
{
    lease->asked_us[voter] = lease->until_us[voter] = 0;
}

/* The lease ends at the median, latest first: a majority has granted it at least until then. */
uint64_t cv_lease_end(const struct cv_lease *lease)
{
    uint64_t until_us[CV_MAX_MEMBERS];
    uint32_t count = 0;
    for (cv_set rest = lease->voters; rest; rest &= rest - 1) {
        const uint64_t until = lease->until_us[__builtin_ctzll(rest)];
        uint32_t place = count++;
        for (; place > 0 && until_us[place - 1] < until; place--)
            until_us[place] = until_us[place - 1];
        until_us[place] = until;
    }
    return count ? until_us[count / 2] : 0;
}

void cv_grants_init(struct cv_grants *grants, const struct cv_lease_terms *terms)
{
    *grants = (struct cv_grants){.terms = *terms};
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

bool cv_grants_ask(struct cv_grants *grants, cv_node member, uint64_t epoch, struct cv_lease_terms asked,
                   uint64_t now_us)
{
    const uint64_t since = grants->since[member];
    if (!since || epoch < since || epoch > grants->epoch)
        return false;
    cv_grants_lend(grants, member, asked, now_us);
    return true;
}

/* A request for less does not shorten a lease that was granted before. */
void cv_grants_lend(struct cv_grants *grants, cv_node member, struct cv_lease_terms asked, uint64_t now_us)
{
    const struct cv_lease_terms terms = cv_lease_longer(grants->terms, asked);
    const uint64_t until_us = now_us + cv_lease_long(&terms, terms.length_us);
    if (grants->until_us[member] < until_us)
        grants->until_us[member] = until_us;
}

void cv_grants_forget(struct cv_grants *grants, cv_node member)
{
    grants->until_us[member] = 0;
}

uint64_t cv_grants_left(const struct cv_grants *grants, cv_set members, uint64_t now_us)
{
    uint64_t until = now_us;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(members, node) && grants->until_us[node] > until)
            until = grants->until_us[node];
    return until - now_us;
}
