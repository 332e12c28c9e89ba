// SPDX-License-Identifier: MIT
/*
 * The group as it is agreed: its members, the place of each, and the voters. It is a part of every entry of the log, so
 * all members of a view mean the same node by the same place. It changes with an entry, one change at a time.
 *
 * A lease needs a majority of `voters`, as the entry of the member's own view has them. When the voters change, members
 * that have not begun the new view still count by the old ones, `former`. So a view needs a majority of both. Nothing
 * changes again before all members have begun the view of the last entry: then no member counts by older voters. By
 * then another member may also take a place that one has left, because the leases of that one are over. Nor does it
 * change before a majority of the voters has stored what the group remembers: every majority meets that of the entry
 * before, but not those of earlier ones.
 *
 * The terms of the group change the same way. Members that have not begun the new view count leases by the old terms,
 * and their leases and promises to clients last on. So an entry also tells the longest lease that any member may still
 * count by, `former_lease`. A node that returns from a crash waits for the longer of both. When all have begun
 * the view of the last entry and a lease of the former terms has passed since, another entry drops them.
 */
#ifndef CONCLAVE_GROUP_SEATING_H
#define CONCLAVE_GROUP_SEATING_H

#include "group/terms.h"

struct cv_seating {
    uint64_t group;            /* the same for as long as the group lives */
    uint32_t generation;       /* counts the changes of places and attributes */
    cv_set present;            /* places that are taken */
    cv_set standbys;           /* members that never vote */
    cv_set voters;             /* members that vote from this entry on */
    cv_set former;             /* members that voted before */
    cv_id ids[CV_MAX_MEMBERS]; /* CV_NO_ID: the place is free */
    uint32_t attributes[CV_MAX_MEMBERS];
    struct cv_known_directory known[CV_MAX_MEMBERS];
    struct cv_terms terms;
    struct cv_lease_terms former_lease;
};

enum cv_change_kind { CV_CHANGE_NONE, CV_CHANGE_JOIN, CV_CHANGE_LEAVE, CV_CHANGE_TERM, CV_CHANGE_KINDS };

/* A JOIN for an id that is a member already changes its attribute, and whether it is a standby. */
struct cv_change {
    enum cv_change_kind kind;
    cv_id id;           /* of TERM: enum cv_term_key */
    uint32_t attribute; /* of TERM: the value */
    bool standby;
};

/* The seating that the configuration gives. It counts until there is an entry. */
void cv_seating_init(struct cv_seating *seating, const struct cv_roster *roster, cv_set voters,
                     const struct cv_terms *terms);
/* The longest lease that any member may count by. */
struct cv_lease_terms cv_seating_lease(const struct cv_seating *seating);
/* May a member still count by a longer lease than that of the terms? */
bool cv_seating_lags(const struct cv_seating *seating);
cv_node cv_seating_place(const struct cv_seating *seating, cv_id id);
/* Would the change change anything? */
bool cv_seating_needs(const struct cv_seating *seating, const struct cv_change *change);
/* Carries out the change, but for the votes. False if no member would be left, or no place is free. */
bool cv_seating_apply(struct cv_seating *seating, const struct cv_change *change);
/* The members that should vote, as many as the terms allow: first the present voters, then those of `fit` with the
 * lowest ids. */
cv_set cv_seating_voters(const struct cv_seating *seating, cv_set fit);

/* Are these members a majority of the voters, and of the former voters? */
bool cv_seating_majority(const struct cv_seating *seating, cv_set members);

#endif
