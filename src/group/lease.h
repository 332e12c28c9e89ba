// SPDX-License-Identifier: MIT
/*
 * A member's lease: no view without the member can begin before it ends. These are functions of times alone, in
 * microseconds of each node's own clock, which runs on while the machine sleeps.
 *
 * A member asks all voters with every heartbeat, and needs the grants of a majority. A lease has the length L. The
 * member counts it from the moment that it *asked*, and counts it short (L - drift). The voter counts it from the
 * moment that it *was asked*, and counts it long (L + drift). As long as every clock gains or loses less than
 * `drift`, a member's lease ends at the member before it ends at any voter that granted it:
 *
 *     member   asks |------------ L (1 - drift) ------------|
 *     voter              |------------------ L (1 + drift) ------------------|
 *
 * The request tells the length and the drift that the member counts by. The voter counts by the longer of those and its
 * own, so both need not have the same terms. A voter grants only to members of views whose entries are on its disk, so
 * the entry on disk tells how long a lease it may have granted (group/seating.h).
 *
 * A node that returns from a crash has forgotten the leases that it granted and was granted. It takes no part in a view
 * before all of them are over.
 *
 * A voter grants to a member that is in the last entry that the voter knows to be agreed, and in all entries since the
 * member's view: a member that was left out once has to begin a new view first. The node that prepares a view hears
 * from all its voters, a majority, how long the leases of members that are left out still last, and waits for that.
 */
#ifndef CONCLAVE_GROUP_LEASE_H
#define CONCLAVE_GROUP_LEASE_H

#include "group/view.h"

struct cv_lease_terms {
    uint64_t length_us;
    uint64_t drift_ppm; /* of every clock, at most: parts per million */
};

/* After so long by this clock, `us` have surely passed by every clock. */
static inline uint64_t cv_lease_long(const struct cv_lease_terms *terms, uint64_t us)
{
    return us + (us * terms->drift_ppm + 999999) / 1000000;
}

/* After so long by this clock, `us` have passed by no clock yet. */
/* After so long by this clock, `us` have passed by no clock yet. */
static inline uint64_t cv_lease_short(const struct cv_lease_terms *terms, uint64_t us)
{
    return us - (us * terms->drift_ppm + 999999) / 1000000;
}

/* The longer length and the larger drift of both. */
static inline struct cv_lease_terms cv_lease_longer(struct cv_lease_terms one, struct cv_lease_terms other)
{
    return (struct cv_lease_terms){one.length_us > other.length_us ? one.length_us : other.length_us,
                                   one.drift_ppm > other.drift_ppm ? one.drift_ppm : other.drift_ppm};
}

/* Has the set a majority of the voters? */
static inline bool cv_majority(cv_set set, cv_set voters)
{
    return 2 * cv_set_count(set & voters) > cv_set_count(voters);
}

/* ---- the member's side ---- */

struct cv_lease {
    struct cv_lease_terms terms;
    cv_set voters;
    uint64_t asked_us[CV_MAX_MEMBERS]; /* when this member asked for each voter's last grant; 0: none */
    uint64_t until_us[CV_MAX_MEMBERS]; /* the end of each voter's grant, counted short */
};

void cv_lease_init(struct cv_lease *lease, const struct cv_lease_terms *terms, cv_set voters);
/* That voter has granted a lease of that length, counted from `asked_us`. */
void cv_lease_granted(struct cv_lease *lease, cv_node voter, uint64_t asked_us, uint64_t length_us);
/* Another member has that voter's place now. */
void cv_lease_forget(struct cv_lease *lease, cv_node voter);
/* The end of the lease; 0: there is none. */
uint64_t cv_lease_end(const struct cv_lease *lease);

/* ---- the voter's side ---- */

struct cv_grants {
    struct cv_lease_terms terms;       /* the longest that any member may count by, as the last entry has it */
    uint64_t epoch;                    /* of the last entry */
    uint64_t since[CV_MAX_MEMBERS];    /* each is in all entries from this one to the last; 0: not in the last */
    uint64_t until_us[CV_MAX_MEMBERS]; /* the end of each member's lease, counted long */
};

void cv_grants_init(struct cv_grants *grants, const struct cv_lease_terms *terms);
/* An entry is agreed. */
void cv_grants_learn(struct cv_grants *grants, uint64_t epoch, cv_set members);
/* Grants, or refuses, a lease to a member that is in the view of that epoch and counts by these terms. */
bool cv_grants_ask(struct cv_grants *grants, cv_node member, uint64_t epoch, struct cv_lease_terms asked,
                   uint64_t now_us);
/* Another voter may just have granted the member a lease. This voter waits for its end, too. */
void cv_grants_lend(struct cv_grants *grants, cv_node member, struct cv_lease_terms asked, uint64_t now_us);
/* The member has given back its lease. */
void cv_grants_forget(struct cv_grants *grants, cv_node member);
/* The time until the leases of all these members are over. */
uint64_t cv_grants_left(const struct cv_grants *grants, cv_set members, uint64_t now_us);

#endif
