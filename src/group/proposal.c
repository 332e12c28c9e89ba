// SPDX-License-Identifier: MIT
/*
 * A proposal as bytes:
 *
 *     version 1, flags 1, coordinator 1, proposer 1, generation 4, group 8, members 8, standbys 8, voters 8, former 8,
 *     each of the terms 4, the former lease in milliseconds 4, the former drift 4,
 *     for each member: place 1, id 4, attribute 4, directory 4, starts 4, kept 4; then 255
 */
#include "group/proposal.h"

#include <string.h>

#include "group/agreed_views.h"
#include "group/bytes.h"

#define VERSION 4u
#define PINNED 1u
#define END 255u

void cv_proposal_write(const struct cv_proposal *proposal, struct cv_buffer *bytes)
{
    const struct cv_seating *seating = &proposal->seating;
    cv_put_8(bytes, VERSION);
    cv_put_8(bytes, proposal->pinned ? PINNED : 0);
    cv_put_8(bytes, (uint8_t)proposal->coordinator);
    cv_put_8(bytes, (uint8_t)proposal->proposer);
    cv_put_32(bytes, seating->generation);
    cv_put_64(bytes, seating->group);
    cv_put_64(bytes, proposal->members);
    cv_put_64(bytes, seating->standbys);
    cv_put_64(bytes, seating->voters);
    cv_put_64(bytes, seating->former);
    for (uint32_t key = 0; key < CV_TERMS; key++)
        cv_put_32(bytes, seating->terms.values[key]);
    cv_put_32(bytes, (uint32_t)(seating->former_lease.length_us / 1000));
    cv_put_32(bytes, (uint32_t)seating->former_lease.drift_ppm);
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(seating->present, node)) {
            cv_put_8(bytes, (uint8_t)node);
            cv_put_32(bytes, seating->ids[node]);
            cv_put_32(bytes, seating->attributes[node]);
            cv_put_32(bytes, seating->known[node].directory);
            cv_put_32(bytes, seating->known[node].starts);
            cv_put_32(bytes, seating->known[node].kept);
        }
    cv_put_8(bytes, END);
}

static bool take_places(struct cv_cursor *bytes, struct cv_seating *seating)
{
    for (uint8_t place; (place = cv_take_8(bytes)) != END && !bytes->broken;) {
        const cv_id id = cv_take_32(bytes);
        const uint32_t attribute = cv_take_32(bytes), directory = cv_take_32(bytes), starts = cv_take_32(bytes);
        const uint32_t kept = cv_take_32(bytes);
        if (place >= CV_MAX_MEMBERS || cv_set_has(seating->present, place) || id == CV_NO_ID ||
            cv_seating_place(seating, id) != CV_NOBODY)
            return false;
        seating->present |= cv_set_of(place);
        seating->ids[place] = id;
        seating->attributes[place] = attribute;
        seating->known[place] = (struct cv_known_directory){directory, starts, kept};
    }
    return !bytes->broken;
}

static bool take_terms(struct cv_cursor *bytes, struct cv_seating *seating)
{
    bool fit = true;
    for (uint32_t key = 0; key < CV_TERMS; key++) {
        seating->terms.values[key] = cv_take_32(bytes);
        fit = fit && cv_term_fits(key, seating->terms.values[key]);
    }
    const uint32_t length_ms = cv_take_32(bytes), drift_ppm = cv_take_32(bytes);
    seating->former_lease = (struct cv_lease_terms){(uint64_t)length_ms * 1000, drift_ppm};
    return fit && cv_term_fits(CV_TERM_LEASE, length_ms) && cv_term_fits(CV_TERM_DRIFT, drift_ppm);
}

bool cv_proposal_read(struct cv_cursor *bytes, struct cv_proposal *proposal)
{
    struct cv_seating *seating = &proposal->seating;
    memset(proposal, 0, sizeof *proposal);
    memset(seating->ids, 0xff, sizeof seating->ids); /* CV_NO_ID */
    if (cv_take_8(bytes) != VERSION)
        return false;
    proposal->pinned = cv_take_8(bytes) & PINNED;
    proposal->coordinator = cv_take_8(bytes);
    proposal->proposer = cv_take_8(bytes);
    seating->generation = cv_take_32(bytes);
    seating->group = cv_take_64(bytes);
    proposal->members = cv_take_64(bytes);
    seating->standbys = cv_take_64(bytes);
    seating->voters = cv_take_64(bytes);
    seating->former = cv_take_64(bytes);
    return take_terms(bytes, seating) && take_places(bytes, seating) && proposal->coordinator < CV_MAX_MEMBERS &&
           proposal->proposer < CV_MAX_MEMBERS && cv_set_has(proposal->members, proposal->coordinator) &&
           !(proposal->members & ~seating->present);
}
