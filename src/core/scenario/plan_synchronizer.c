// SPDX-License-Identifier: MIT
/* Reads the app of a synchronizer, the number of rounds and the clusters. */
#include "core/scenario/plan_synchronizer.h"

#include <stdio.h>
#include <string.h>

#include <conclave/synchronizer.h>

#include "core/parse.h"
#include "core/scenario/plan.h"

#define MOST_ROUNDS (UINT32_MAX - 2u)
#define USUAL_GROWTH 2u

bool plan_synchronizer_knows(const struct cv_plan *plan, const char *key, size_t length)
{
    const struct cv_text text = {key, length};
    return (plan->app && cv_text_is(text, "rounds")) || (plan->algorithm->clusters && cv_text_is(text, "clusters"));
}

/* n − 1 rounds: no shortest path has more edges. */
static int read_rounds(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const char *value = cv_plan_setting(plan, "rounds");
    scenario->group.rounds = scenario->group.nodes - 1;
    if (value && !cv_parse_number(cv_text(value), MOST_ROUNDS, &scenario->group.rounds))
        return cv_complain(complaint, "--set rounds=%s: expected a number of 0..%u", cv_brief(value).text, MOST_ROUNDS);
    return 0;
}

/* The clusters of a file, or balls that grow by a factor. */
static int read_clusters(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                         struct cv_complaint *complaint)
{
    const char *value = cv_plan_setting(plan, "clusters");
    char name[sizeof(struct cv_brief) + sizeof "--set clusters="];
    uint64_t growth = USUAL_GROWTH;
    int error;
    if (!plan->algorithm->clusters)
        return 0;
    snprintf(name, sizeof name, "--set clusters=%s", cv_brief(value ? value : "").text);
    if (plan->clusters_text)
        error = cv_clusters_parse(&scenario->clusters, plan->clusters_text, &scenario->graph, scenario->ids, index,
                                  name, complaint);
    else if (value && (!cv_parse_number(cv_text(value), UINT32_MAX, &growth) || !growth))
        error = cv_complain(complaint, "%s: expected a number of 1..%u, or a file", name, UINT32_MAX);
    else
        error = cv_clusters_grow(&scenario->clusters, &scenario->graph, scenario->ids, growth);
    scenario->group.parents = scenario->clusters.parents;
    scenario->group.preferred = scenario->clusters.preferred;
    return error;
}

static int check_connected(const struct cv_plan *plan, const struct cv_scenario *scenario,
                           struct cv_complaint *complaint)
{
    const uint32_t parts = plan->algorithm->assumes & CV_CONNECTED ? cv_graph_components(&scenario->graph, NULL) : 1;
    if (parts > 1)
        return cv_complain(complaint, "--graph %s: the graph falls into %u parts; expected a connected one for %s",
                           cv_brief(plan->graph).text, parts, plan->algorithm->name);
    return parts ? 0 : CV_ENOMEM;
}

/* A parameter that names a member is by default the member with the smallest id. */
static void name_members(const struct cv_algorithm *algorithm, const struct cv_scenario *scenario, int64_t *values)
{
    cv_node smallest = 0;
    for (cv_node node = 1; node < scenario->group.nodes; node++)
        if (scenario->ids[node] < scenario->ids[smallest])
            smallest = node;
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++)
        if (algorithm->parameters[i].type == CV_MEMBER && values[i] < 0)
            values[i] = smallest;
}

static uint64_t slot_bytes(const struct cv_algorithm *app)
{
    uint64_t most = 0;
    for (const struct cv_kind *kind = app->kinds; kind->name; kind++)
        most = kind->bytes > most ? kind->bytes : most;
    return sizeof(struct cv_envelope) + (most + 7) / 8 * 8;
}

int plan_synchronizer_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                            struct cv_complaint *complaint)
{
    struct cv_group *group = &scenario->group;
    if (plan->start)
        return cv_complain(complaint, "--start %s: with %s every node starts at time 0; expected no callers",
                           cv_brief(plan->start).text, plan->algorithm->name);
    scenario->everyone_calls = true;
    name_members(plan->algorithm, scenario, scenario->parameters);
    if (!plan->app)
        return 0;
    if (group->nodes > CV_MAX_LINKS)
        return cv_complain(complaint, "--nodes %u: expected at most %u for a synchronizer", group->nodes, CV_MAX_LINKS);
    scenario->ends = cv_graph_ends(&scenario->graph);
    if (!scenario->ends)
        return CV_ENOMEM;
    group->ends = scenario->ends;
    name_members(plan->app, scenario, scenario->app_parameters);
    int error = read_rounds(plan, scenario, complaint);
    if (!error)
        error = check_connected(plan, scenario, complaint);
    if (!error)
        error = read_clusters(plan, index, scenario, complaint);
    scenario->app = plan->app;
    scenario->alone = plan->alone;
    group->hosted_at = (plan->algorithm->state_bytes + 7) / 8 * 8;
    group->slot_bytes = slot_bytes(plan->app);
    scenario->app_group = *group;
    scenario->app_group.parameters = scenario->app_parameters;
    group->app = plan->app;
    group->app_group = &scenario->app_group;
    return error;
}
