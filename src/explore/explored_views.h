// SPDX-License-Identifier: MIT
/*
 * Views: numbered lists of members, for mutual exclusion (see sim/view_changes.h). When a node has died or come back,
 * a new view begins. Messages under way are lost; every member begins anew and adopts the node that is inside; nodes
 * that wait ask again. The members are nodes with EXPLORED_MEMBER, so that going back goes back to the view before.
 */
#ifndef CONCLAVE_EXPLORE_EXPLORED_VIEWS_H
#define CONCLAVE_EXPLORE_EXPLORED_VIEWS_H

#include "explore/explored.h"

/* Begins the first view, of the nodes that live. 0, CV_ENOMEM. */
int explored_views_open(struct explored *world);
void explored_views_free(struct explored *world);

/* Makes the group what the present view says. */
void explored_views_refresh(struct explored *world);

/* Is a view to begin? Then when, in the simulator's time, and who coordinates it. */
bool explored_view_due(struct explored *world, uint64_t *due, cv_node *coordinator);

/* Begins it. */
void explored_view_begin(struct explored *world, cv_node coordinator);

/* Then, when the requests that are due at once have been made, its members start. */
void explored_view_start(struct explored *world);

/* Room for a node's state in any view. */
size_t explored_views_state(const struct explored *world, cv_node node);

#endif
