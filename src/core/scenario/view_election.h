// SPDX-License-Identifier: MIT
/* The election of a new view's coordinator, among the nodes that live, as a scenario of its own. */
#ifndef CONCLAVE_CORE_SCENARIO_VIEW_ELECTION_H
#define CONCLAVE_CORE_SCENARIO_VIEW_ELECTION_H

#include "core/scenario/scenario.h"

struct cv_view_election {
    struct cv_scenario scenario; /* not to be freed: it has the group of the run, and what stands here */
    struct cv_crash *dead;
    int64_t *parameters;
    cv_node caller; /* the first live node; CV_NOBODY: none lives */
};

/* Makes it, after so many views. 0 or CV_ENOMEM. Free it in any case; it must not move before. */
int cv_view_election_make(struct cv_view_election *election, const struct cv_scenario *scenario, uint64_t views,
                          bool (*alive)(const void *world, cv_node node), const void *world);
void cv_view_election_free(struct cv_view_election *election);

#endif
