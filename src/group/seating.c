// SPDX-License-Identifier: MIT
#include "group/seating.h"

#include "group/lease.h"

void cv_seating_init(struct cv_seating *seating, const struct cv_roster *roster, cv_set voters,
                     const struct cv_terms *terms)
{
    *seating = (struct cv_seating){.group = roster->group,
                                   .generation = roster->generation,
                                   .standbys = roster->standbys,
                                   .voters = voters,
                                   .former = voters,
                                   .terms = *terms,
                                   .former_lease = cv_terms_lease(terms)};
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        const bool present = node < roster->count && roster->ids[node] != CV_NO_ID;
        seating->ids[node] = present ? roster->ids[node] : CV_NO_ID;
        seating->attributes[node] = present ? roster->attributes[node] : 0;
        seating->known[node] = present ? roster->known[node] : (struct cv_known_directory){0};
        seating->present |= present ? cv_set_of(node) : 0;
    }
}

struct cv_lease_terms cv_seating_lease(const struct cv_seating *seating)
{
    return cv_lease_longer(cv_terms_lease(&seating->terms), seating->former_lease);
}

bool cv_seating_lags(const struct cv_seating *seating)
{
    const struct cv_lease_terms now = cv_terms_lease(&seating->terms), former = seating->former_lease;
    return former.length_us > now.length_us || former.drift_ppm > now.drift_ppm;
}

cv_node cv_seating_place(const struct cv_seating *seating, cv_id id)
{
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (seating->ids[node] == id && id != CV_NO_ID)
            return node;
    return CV_NOBODY;
}

bool cv_seating_needs(const struct cv_seating *seating, const struct cv_change *change)
{
    if (change->kind == CV_CHANGE_TERM)
        return change->id < CV_TERMS && cv_term_fits(change->id, change->attribute) &&
               seating->terms.values[change->id] != change->attribute;
    const cv_node place = cv_seating_place(seating, change->id);
    if (change->kind != CV_CHANGE_JOIN)
        return change->kind == CV_CHANGE_LEAVE && place != CV_NOBODY;
    return place == CV_NOBODY || seating->attributes[place] != change->attribute ||
           cv_set_has(seating->standbys, place) != change->standby;
}

static bool join(struct cv_seating *seating, const struct cv_change *change, cv_node place)
{
    if (place == CV_NOBODY && seating->present == UINT64_MAX)
        return false;
    if (place == CV_NOBODY)
        place = (cv_node)__builtin_ctzll(~seating->present);
    const cv_set one = cv_set_of(place);
    seating->present |= one;
    seating->standbys = change->standby ? seating->standbys | one : seating->standbys & ~one;
    seating->ids[place] = change->id;
    seating->attributes[place] = change->attribute;
    return true;
}

static bool leave(struct cv_seating *seating, cv_node place)
{
    const cv_set rest = seating->present & ~cv_set_of(place);
    if (!(rest & ~seating->standbys))
        return false; /* no voter would be left */
    seating->present = rest;
    seating->standbys &= rest;
    seating->ids[place] = CV_NO_ID;
    seating->attributes[place] = 0;
    seating->known[place] = (struct cv_known_directory){0};
    return true;
}

bool cv_seating_apply(struct cv_seating *seating, const struct cv_change *change)
{
    const cv_node place = cv_seating_place(seating, change->id);
    if (!cv_seating_needs(seating, change))
        return false;
    if (change->kind == CV_CHANGE_TERM) {
        seating->terms.values[change->id] = change->attribute;
        return true;
    }
    if (!(change->kind == CV_CHANGE_JOIN ? join(seating, change, place) : leave(seating, place)))
        return false;
    seating->generation++;
    return true;
}

/* The node of the set with the lowest id, or the highest. */
static cv_node extreme(const struct cv_seating *seating, cv_set set, bool highest)
{
    cv_node found = CV_NOBODY;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(set, node) && (found == CV_NOBODY || (seating->ids[node] > seating->ids[found]) == highest))
            found = node;
    return found;
}

cv_set cv_seating_voters(const struct cv_seating *seating, cv_set fit)
{
    const uint32_t most = seating->terms.values[CV_TERM_VOTERS];
    const cv_set may = seating->present & ~seating->standbys;
    cv_set voters = seating->voters & may;
    while (cv_set_count(voters) > most) {
        const cv_set unfit = voters & ~fit;
        voters &= ~cv_set_of(extreme(seating, unfit ? unfit : voters, true));
    }
    for (cv_set rest = may & fit & ~voters; rest && cv_set_count(voters) < most; rest &= ~voters)
        voters |= cv_set_of(extreme(seating, rest, false));
    return voters;
}

bool cv_seating_majority(const struct cv_seating *seating, cv_set members)
{
    return cv_majority(members, seating->voters) && cv_majority(members, seating->former);
}
