// SPDX-License-Identifier: MIT
/*
 * The members of the group: first as the configuration has them, then as the log has them. A person or a changed
 * configuration may request a change. The node repeats the request to the leader of the log until it is agreed.
 *
 * An entry also tells addresses, as many as it has room for:
 *
 *     place 1, length 1, the address for members, length 1, the address for clients
 *
 * A node prefers the addresses of its own configuration.
 */
#ifndef CONCLAVE_LIVE_ROSTER_H
#define CONCLAVE_LIVE_ROSTER_H

#include "core/error.h"
#include "group/seating.h"
#include "live/settings/settings.h"

struct cv_buffer;
struct consensus;
struct cv_cursor;
struct cv_frame;
struct cv_member_setting;
struct cv_settings;

struct cv_addresses {
    char peers[CV_ADDRESS_BYTES], clients[CV_ADDRESS_BYTES]; /* empty: not known */
};

/* A requested change of members or terms. */
struct cv_change_request {
    struct cv_change change;
    struct cv_addresses addresses; /* of the node that joins */
    bool replaces;                 /* JOIN: the member of that id with this directory leaves first */
    uint32_t directory;
    uint64_t until_us;
};

/* A hash of the configured members: it is the same at all founders of a group. */
uint64_t roster_fingerprint(const struct cv_roster *roster);
/* Requests that a node that the configuration lists joins. */
void roster_invite(struct consensus *consensus, const struct cv_member_setting *setting);
void roster_draw(struct cv_roster *roster, const struct cv_settings *settings);
void roster_write_addresses(const struct consensus *consensus, const struct cv_seating *seating,
                            struct cv_buffer *bytes);
/* Are these addresses of members, all of them whole? */
bool roster_addresses_fit(struct cv_cursor bytes);
/*
 * Takes over the roster of an entry, with the addresses after it. False if this node is not in it: then nothing
 * changes.
 */
bool roster_follow(struct consensus *consensus, uint64_t epoch, const struct cv_seating *seating,
                   struct cv_cursor *rest);
/* Takes over the roster of the last entry on disk. */
void roster_recall(struct consensus *consensus);
/* Does this node know its place? Only the log can tell, if there is one already. */
bool roster_is_seated(const struct consensus *consensus);
/* A node whose roster has that generation says that this node is not on it. Does that count? */
bool roster_believes(const struct consensus *consensus, uint64_t generation, bool was_known);
/* Repeats a request until it is agreed, or, unless `patient`, a while has passed. False: there are too many. */
bool roster_request(struct consensus *consensus, const struct cv_change_request *request, bool patient);
/* A new member takes that member's place, whose directory is lost. */
bool roster_replace(struct consensus *consensus, cv_node node);
void roster_hear(struct consensus *consensus, const struct cv_frame *frame);
/* An entry is agreed: drops the requests that it fulfils. */
void roster_forget_done(struct consensus *consensus);
/* Time has passed: repeats the requests. */
void roster_pursue(struct consensus *consensus);
/* May the second configuration replace the first while this node runs? */
int roster_check(const struct consensus *consensus, const struct cv_settings *before, const struct cv_settings *after,
                 struct cv_complaint *complaint);
/* Requests the changes between these configurations. */
void roster_reconfigure(struct consensus *consensus, const struct cv_settings *before, const struct cv_settings *after);
/* Keeps the configuration's members on disk, to compare with those after a restart. */
void roster_remember(struct consensus *consensus);
void roster_compare(struct consensus *consensus);

#endif
