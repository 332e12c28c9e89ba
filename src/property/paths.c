// SPDX-License-Identifier: MIT
/*
 * Shortest paths: the result of every node is its distance from the source by Dijkstra's algorithm, and the neighbour
 * that it names lies on such a path. Nodes that no path leads to have no result.
 */
#include "property/paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/graph/graph_paths.h"
#include "core/scenario/label.h"

struct reference {
    const struct cv_run *run;
    enum cv_length length;
    cv_node source;
    uint64_t *distances; /* by Dijkstra's algorithm */
};

static struct cv_name name_of(const struct reference *reference, cv_node node)
{
    return cv_name(reference->run->scenario, node);
}

/* Does a shortest path to the node lead over the neighbour that it names? */
static bool is_on_the_way(const struct reference *reference, cv_node node, cv_node via)
{
    if (node == reference->source)
        return via == node;
    const uint32_t step = cv_graph_step(&reference->run->scenario->graph, via, node, reference->length);
    return step != CV_NO_WAY && reference->distances[via] != CV_UNREACHED &&
           reference->distances[via] + step == reference->distances[node];
}

static bool is_right(const struct reference *reference, cv_node node, const struct cv_standing *it)
{
    const uint64_t distance = reference->distances[node];
    if (distance == CV_UNREACHED || !it->updates)
        return distance == CV_UNREACHED && !it->updates;
    return it->result == distance && is_on_the_way(reference, node, it->via);
}

static void say_what_is_wrong(const struct reference *reference, cv_node node, char *text, size_t room)
{
    const struct cv_standing it = reference->run->standing(reference->run->runtime, node);
    const uint64_t distance = reference->distances[node];
    if (!it.updates)
        snprintf(text, room, "node %s has no result, but is %" PRIu64 " from the source", name_of(reference, node).text,
                 distance);
    else if (distance == CV_UNREACHED)
        snprintf(text, room, "node %s has come to %" PRIu64 ", but no path leads there", name_of(reference, node).text,
                 it.result);
    else if (it.result != distance)
        snprintf(text, room, "node %s has come to %" PRIu64 ", it is %" PRIu64 " from the source",
                 name_of(reference, node).text, it.result, distance);
    else
        snprintf(text, room, "node %s names %s, but no shortest path leads over it", name_of(reference, node).text,
                 name_of(reference, it.via).text);
}

/* The first live node that is wrong, or CV_NOBODY. */
static cv_node find_wrong(const struct reference *reference)
{
    const struct cv_run *run = reference->run;
    for (cv_node node = 0; node < run->scenario->group.nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        if (it.alive && !is_right(reference, node, &it))
            return node;
    }
    return CV_NOBODY;
}

static void judge(const struct reference *reference, struct cv_judgement *judgement)
{
    const struct cv_scenario *scenario = reference->run->scenario;
    const cv_node wrong = find_wrong(reference);
    const bool cut_short = cv_scenario_cut_short(scenario);
    struct cv_finding *finding =
        cv_find(judgement, reference->length == CV_BY_HOPS ? CV_PROPERTY_FEWEST_HOPS : CV_PROPERTY_SHORTEST_PATHS,
                wrong == CV_NOBODY ? CV_HELD
                : cut_short        ? CV_DISCLAIMED
                                   : verdict_if_missing(reference->run));
    if (wrong == CV_NOBODY)
        return;
    say_what_is_wrong(reference, wrong, finding->detail, sizeof finding->detail);
    if (cut_short) {
        const size_t used = strlen(finding->detail);
        snprintf(finding->detail + used, sizeof finding->detail - used, "; rounds=%" PRIu64 " may be too few",
                 scenario->group.rounds);
    }
}

int judge_paths(const struct cv_run *run, struct cv_judgement *judgement)
{
    const struct cv_scenario *scenario = run->scenario;
    const uint32_t nodes = scenario->group.nodes;
    if (!scenario->graph.edges)
        return 0; /* there is nothing to compare with */
    const bool hops = !(cv_scenario_claims(scenario) & CV_SHORTEST_PATHS);
    struct reference reference = {.run = run,
                                  .length = hops ? CV_BY_HOPS : CV_BY_WEIGHT,
                                  .source = cv_scenario_source(scenario),
                                  .distances = malloc(nodes * sizeof *reference.distances)};
    bool *dead = calloc(nodes, sizeof *dead);
    int error = reference.distances && dead ? 0 : CV_ENOMEM;
    for (uint32_t i = 0; !error && i < scenario->crash_count; i++)
        if (cv_scenario_dead(scenario, scenario->crashes[i].node))
            dead[scenario->crashes[i].node] = true;
    if (!error)
        error = cv_graph_distances(&scenario->graph, reference.source, reference.length, dead, reference.distances);
    if (!error)
        judge(&reference, judgement);
    free(reference.distances);
    free(dead);
    return error;
}
