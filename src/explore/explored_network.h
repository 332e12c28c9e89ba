// SPDX-License-Identifier: MIT
/* Who reaches whom, what the failure detector has to tell, and the faults between steps. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_NETWORK_H
#define CONCLAVE_EXPLORE_EXPLORED_NETWORK_H

#include "explore/explored.h"

/* Is the link between them cut, by itself or by a partition? */
bool explored_is_cut(const struct explored *world, cv_node one, cv_node other);

/* Over how many links a message goes: more than one if it is relayed around a cut; 0: it cannot get there. */
uint32_t explored_hops(const struct explored *world, cv_node from, cv_node to);

/* Is the other one dead, or out of reach: in a graph over any number of links? */
bool explored_is_lost(struct explored *world, cv_node node, cv_node other);

/* Has the detector to tell the node that the other one is gone? */
bool explored_to_tell(struct explored *world, cv_node node, cv_node other);
/* May it tell, at least: of a crash that need not be reported, too? */
bool explored_may_tell(struct explored *world, cv_node node, cv_node other);

/* When the detector reports that, in the simulator's time, and in which order of reports due at once. */
uint64_t explored_report_due(struct explored *world, cv_node node, cv_node other, uint64_t *order);

/* Is a message or a report of the detector under way? */
bool explored_under_way(struct explored *world);

/* The parts of a graph are to be found anew. */
void explored_network_changed(struct explored *world);
/* By node: the first node of its connected component; UINT32_MAX for a dead one. */
const uint32_t *explored_parts(struct explored *world);

/* Takes a message off the links. */
void explored_unlink(struct explored *world, struct explored_message *message);
/* Puts it behind another one on the links; NULL: behind all. */
void explored_link(struct explored *world, struct explored_message *message, struct explored_message *before);

void explored_crash(struct explored *world, cv_node node, bool missed);
void explored_come_back(struct explored *world, cv_node node);
/* A node that begins knows what the detector has reported before. */
void explored_learn_reports(struct explored *world, cv_node node);
void explored_cut_or_heal(struct explored *world, cv_node one, cv_node other);
void explored_partition(struct explored *world, uint32_t partition, bool on);
/* All messages that are under way are lost. */
void explored_lose_all(struct explored *world);
void explored_drop(struct explored *world, struct explored_message *message);
void explored_duplicate(struct explored *world, struct explored_message *message);

/* Lists the faults that the scenario plans. 0 or CV_ENOMEM. */
int explored_plan_faults(struct explored *world);

#endif
