// SPDX-License-Identifier: MIT
/* Mutual exclusion with views: the members of the group, and the coordinator they elect. */
#ifndef CONCLAVE_SIM_VIEW_CHANGES_H
#define CONCLAVE_SIM_VIEW_CHANGES_H

#include "sim/world.h"

int views_init(struct cv_sim *sim);
void views_free(struct cv_sim *sim);

/* The first view: all live nodes are members, and none is in the critical section. */
void views_begin(struct cv_sim *sim);

/* A node died or came back, and the detector says so: a coordinator is elected, then the view begins. */
void views_change(struct cv_sim *sim);
void views_install(struct cv_sim *sim, cv_node coordinator);

#endif
