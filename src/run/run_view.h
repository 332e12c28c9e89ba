// SPDX-License-Identifier: MIT
/*
 * A view of an experiment: which nodes are members, and which of them coordinates. The experiment sees which processes
 * live, so it agrees with itself on views, as the simulator's engine does.
 */
#ifndef CONCLAVE_RUN_RUN_VIEW_H
#define CONCLAVE_RUN_RUN_VIEW_H

#include "core/quorum.h"
#include "core/scenario/scenario.h"

struct run_view {
    uint64_t epoch;
    cv_node coordinator; /* CV_NOBODY: the algorithm needs none */
    cv_node *members;
    uint32_t member_count;
    struct cv_quorums quorums; /* over the members */
};

/* Which node is inside a critical section. */
struct view_hold {
    uint32_t name;
    cv_node node;
    uint64_t fence;
};

/* What an order to begin a view says; then come the holds, then the members. */
struct view_order {
    uint64_t epoch;
    cv_node coordinator;
    uint32_t member_count;
    uint32_t hold_count;
    uint32_t unused;
};

/* The first view: the nodes that live at time 0. 0 or CV_ENOMEM; free it in any case. */
int run_view_first(struct run_view *view, const struct cv_scenario *scenario);
/* Another view, of other members. 0 or CV_ENOMEM. */
int run_view_change(struct run_view *view, const struct cv_scenario *scenario, const struct view_order *order,
                    const cv_node *members);
/* The group as its members know it, which the view must outlive. */
void run_view_apply(const struct run_view *view, const struct cv_scenario *scenario, struct cv_group *group);
/* The coordinator of such members: the present one if it is a member, otherwise the best of them. */
cv_node run_view_coordinator(const struct run_view *view, const struct cv_scenario *scenario, const cv_node *members,
                             uint32_t count);
void run_view_free(struct run_view *view);

#endif
