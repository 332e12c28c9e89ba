// SPDX-License-Identifier: MIT
#include "core/scenario/view_election.h"

#include <stdlib.h>

#include "core/error.h"

int cv_view_election_make(struct cv_view_election *election, const struct cv_scenario *scenario, uint64_t views,
                          bool (*alive)(const void *world, cv_node node), const void *world)
{
    const struct cv_algorithm *algorithm = scenario->election;
    *election = (struct cv_view_election){
        .dead = calloc(scenario->group.nodes, sizeof *election->dead),
        .parameters = calloc(cv_algorithm_parameters(algorithm) + 1u, sizeof *election->parameters),
        .caller = CV_NOBODY};
    if (!election->dead || !election->parameters)
        return CV_ENOMEM;
    struct cv_scenario *it = &election->scenario;
    *it = (struct cv_scenario){.algorithm = algorithm,
                               .group = scenario->group,
                               .seed = scenario->seed + views,
                               .delay = scenario->delay,
                               .detect = 1,
                               .until = CV_NEVER - 1,
                               .crashes = election->dead,
                               .callers = &election->caller,
                               .caller_count = 1,
                               .parameters = election->parameters};
    for (cv_node node = 0; node < it->group.nodes; node++)
        if (!alive(world, node))
            election->dead[it->crash_count++] = (struct cv_crash){.node = node};
        else if (election->caller == CV_NOBODY)
            election->caller = node;
    it->group.parameters = election->parameters;
    it->group.topology = algorithm->topology;
    it->group.bound = cv_scenario_bound(it);
    return 0;
}

void cv_view_election_free(struct cv_view_election *election)
{
    free(election->dead);
    free(election->parameters);
    *election = (struct cv_view_election){0};
}
