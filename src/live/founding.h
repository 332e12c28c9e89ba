// SPDX-License-Identifier: MIT
/*
 * How a node comes to belong to a group, if its directory belongs to none.
 *
 *     all that [members] lists are there, and all are empty:   the one with the lowest id founds the group
 *     some are missing, and `found = yes` is set at a node:    a majority founds it; the others are asked to join
 *     somebody there belongs to a group:                       it knows whether this node may: a member that was
 *                                                              never there before joins; another waits for
 *                                                              `conclave replace`
 *
 * Whoever founds the group draws its number and begins its log; the others hear of it (FOUND), and get the log from
 * Raft. No two groups can come of that: each node belongs to the first it hears of, and a group needs a majority.
 */
#ifndef CONCLAVE_LIVE_FOUNDING_H
#define CONCLAVE_LIVE_FOUNDING_H

#include "core/error.h"
#include "group/view.h"

struct consensus;
struct cv_frame;
struct cv_identity;

/* A number for a directory that is new. */
uint32_t founding_draw(void);
/* What the directory says of the group. */
int founding_open(struct consensus *consensus, const struct cv_identity *identity, struct cv_complaint *complaint);
/* Founds a group, if it is time to. */
void founding_consider(struct consensus *consensus);
void founding_greeted(struct consensus *consensus, cv_node node);
/* That member speaks with this node, knowing who it is. */
void founding_accepted(struct consensus *consensus, cv_node node);
/* That member does not, since this node's directory is empty. */
void founding_refused(struct consensus *consensus, cv_id by);
/* Somebody tells who belongs to the group. */
void founding_welcome(struct consensus *consensus, const struct cv_frame *frame);
void founding_hear(struct consensus *consensus, cv_node from, const struct cv_frame *frame);

#endif
