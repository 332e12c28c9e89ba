// SPDX-License-Identifier: MIT
/*
 * How a node whose directory belongs to no group comes to one.
 *
 *     all that [members] lists are there, and all are empty:   the one with the lowest id founds the group
 *     some are missing, and `found = yes` is set at a node:    a majority founds it; the others are asked to join
 *     a member of a group is there:                            it knows whether this node may belong, too: a node that
 *                                                              was never there before joins; another waits for
 *                                                              `conclave replace`
 *
 * The founder draws the group's number and begins its log. The others hear of it (FOUND), and get the log from Raft.
 * There is never more than one group, because each node belongs to the first that it hears of, and a group needs a
 * majority.
 */
#ifndef CONCLAVE_LIVE_FOUNDING_H
#define CONCLAVE_LIVE_FOUNDING_H

#include "core/error.h"
#include "group/view.h"

struct consensus;
struct cv_frame;
struct cv_identity;

/* Draws the number of a new directory. */
uint32_t founding_draw(void);
/* Reads what the directory says of the group. */
int founding_open(struct consensus *consensus, const struct cv_identity *identity, struct cv_complaint *complaint);
/* Founds a group, if it is time to. */
void founding_consider(struct consensus *consensus);
void founding_greeted(struct consensus *consensus, cv_node node);
/* That member knows this node, and speaks with it. */
void founding_accepted(struct consensus *consensus, cv_node node);
/* That member does not speak with this node, because this node's directory is empty. */
void founding_refused(struct consensus *consensus, cv_id by);
/* That member is alive: if no view has it, it may need to hear who the members are. */
void founding_remind(struct consensus *consensus, cv_node node);
/*
 * A member tells the members of the group. A node without a lease believes it if its own list is older, and until it
 * has that entry itself, it neither grants nor is granted a lease.
 */
void founding_welcome(struct consensus *consensus, const struct cv_frame *frame);
void founding_hear(struct consensus *consensus, cv_node from, const struct cv_frame *frame);

#endif
