// SPDX-License-Identifier: MIT
#include "run/run_view.h"

#include <stdlib.h>

#include "core/error.h"

/* Voting sets are sets of members. Those of a file are only valid for the group they were written for. */
static int draw_quorums(struct run_view *view, const struct cv_scenario *scenario)
{
    struct cv_complaint complaint;
    cv_quorums_free(&view->quorums);
    if (!scenario->quorums.starts || view->member_count == scenario->group.nodes)
        return 0;
    return cv_quorums_make(&view->quorums, "grid", scenario->group.nodes, view->members, view->member_count,
                           &complaint);
}

cv_node run_view_coordinator(const struct run_view *view, const struct cv_scenario *scenario, const cv_node *members,
                             uint32_t count)
{
    const struct cv_group *group = &scenario->group;
    if (group->coordinator == CV_NOBODY || !count)
        return CV_NOBODY;
    cv_node best = members[0];
    for (uint32_t i = 0; i < count; i++) {
        if (members[i] == view->coordinator)
            return view->coordinator;
        if (cv_group_rank(group, members[i]) > cv_group_rank(group, best))
            best = members[i];
    }
    return best;
}

int run_view_first(struct run_view *view, const struct cv_scenario *scenario)
{
    const uint32_t nodes = scenario->group.nodes;
    *view = (struct run_view){.epoch = scenario->group.epoch, .coordinator = scenario->group.coordinator};
    view->members = malloc(nodes * sizeof *view->members);
    if (!view->members)
        return CV_ENOMEM;
    for (cv_node node = 0; node < nodes; node++)
        if (!scenario->views || !cv_scenario_dead(scenario, node))
            view->members[view->member_count++] = node;
    view->coordinator = run_view_coordinator(view, scenario, view->members, view->member_count);
    return draw_quorums(view, scenario);
}

int run_view_change(struct run_view *view, const struct cv_scenario *scenario, const struct view_order *order,
                    const cv_node *members)
{
    view->epoch = order->epoch;
    view->coordinator = order->coordinator;
    view->member_count = order->member_count;
    memmove(view->members, members, order->member_count * sizeof *members);
    return draw_quorums(view, scenario);
}

void run_view_apply(const struct run_view *view, const struct cv_scenario *scenario, struct cv_group *group)
{
    const bool all = view->member_count == group->nodes;
    group->epoch = view->epoch;
    group->coordinator = view->coordinator;
    group->member_count = view->member_count;
    group->members = all ? NULL : view->members;
    group->quorums = view->quorums.starts ? view->quorums.starts : scenario->quorums.starts;
    group->voters = view->quorums.starts ? view->quorums.voters : scenario->quorums.voters;
}

void run_view_free(struct run_view *view)
{
    cv_quorums_free(&view->quorums);
    free(view->members);
    *view = (struct run_view){0};
}
