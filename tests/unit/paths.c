// SPDX-License-Identifier: MIT
/* Distances against Floyd and Warshall's, the gadget's shape, and the judge of paths given results made up by hand. */
#include "judged.h"

#include <stdlib.h>

#include "algorithm/registry.h"
#include "core/graph/graph_build.h"
#include "core/graph/graph_make.h"
#include "core/graph/graph_paths.h"
#include "core/scenario/plan.h"

#define MOST_NODES 24u

/* ---- distances -------------------------------------------------------------------------------------- */

/* A random graph whose edges have a weight, perhaps another one back, or lead one way only. */
static struct cv_graph random_graph(struct cv_random *random, uint32_t nodes)
{
    struct cv_graph graph;
    struct edge_list edges = {0};
    const uint64_t most = cv_random_below(random, 100) + 1;
    for (cv_node b = 1; b < nodes; b++)
        for (cv_node a = 0; a < b; a++)
            if (cv_random_below(random, 100) < most) {
                const uint32_t weight = (uint32_t)cv_random_below(random, 20);
                const uint32_t others[] = {weight, (uint32_t)cv_random_below(random, 20), CV_NO_WAY};
                const uint32_t other = others[cv_random_below(random, 3)];
                const bool turned = cv_random_below(random, 2);
                edge_list_add(&edges, (struct graph_edge){a, b, 0, turned ? other : weight, turned ? weight : other});
            }
    assert_int_equal(graph_build(&graph, nodes, &edges), 0);
    return graph;
}

/* The naive second model: paths over the first k nodes, for k from none to all. */
static void floyd_warshall(const struct cv_graph *graph, enum cv_length length, const bool *absent,
                           uint64_t distance[MOST_NODES][MOST_NODES])
{
    const uint32_t nodes = graph->nodes;
    for (cv_node a = 0; a < nodes; a++) {
        for (cv_node b = 0; b < nodes; b++)
            distance[a][b] = a == b && !absent[a] ? 0 : CV_UNREACHED;
        for (uint64_t i = graph->edges[a]; i < graph->edges[a + 1]; i++) {
            const uint32_t weight = graph->weights ? graph->weights[i] : 1;
            const cv_node b = graph->neighbours[i];
            if (weight != CV_NO_WAY && !absent[a] && !absent[b])
                distance[a][b] = length == CV_BY_HOPS ? 1 : weight;
        }
    }
    for (cv_node k = 0; k < nodes; k++)
        for (cv_node a = 0; a < nodes; a++)
            for (cv_node b = 0; b < nodes; b++)
                if (distance[a][k] != CV_UNREACHED && distance[k][b] != CV_UNREACHED &&
                    distance[a][k] + distance[k][b] < distance[a][b])
                    distance[a][b] = distance[a][k] + distance[k][b];
}

static void distances_are_those_of_floyd_and_warshall(void **state)
{
    (void)state;
    struct cv_random random;
    uint64_t expected[MOST_NODES][MOST_NODES], distances[MOST_NODES];
    uint64_t reached = 0, unreached = 0;
    cv_random_seed(&random, 4, 1);
    for (unsigned round = 0; round < 600; round++) {
        const uint32_t nodes = 1 + (uint32_t)cv_random_below(&random, MOST_NODES);
        const enum cv_length length = round % 2 ? CV_BY_HOPS : CV_BY_WEIGHT;
        bool absent[MOST_NODES] = {false};
        for (cv_node node = 0; round % 3 == 0 && node < nodes; node++)
            absent[node] = cv_random_below(&random, 5) == 0;
        struct cv_graph graph = random_graph(&random, nodes);
        floyd_warshall(&graph, length, absent, expected);
        for (cv_node source = 0; source < nodes; source++) {
            assert_int_equal(cv_graph_distances(&graph, source, length, round % 3 ? NULL : absent, distances), 0);
            assert_memory_equal(distances, expected[source], nodes * sizeof *distances);
            for (cv_node node = 0; node < nodes; node++)
                *(distances[node] == CV_UNREACHED ? &unreached : &reached) += 1;
        }
        cv_graph_free(&graph);
    }
    assert_true(reached > 10000 && unreached > 10000); /* both are common enough to be tested */
}

static void a_step_costs_what_its_direction_costs(void **state)
{
    (void)state;
    struct cv_graph graph;
    struct edge_list edges = {0};
    edge_list_add(&edges, (struct graph_edge){0, 1, 0, 5, 7});
    edge_list_add(&edges, (struct graph_edge){1, 2, 0, CV_NO_WAY, 0});
    assert_int_equal(graph_build(&graph, 4, &edges), 0);
    assert_int_equal(cv_graph_step(&graph, 0, 1, CV_BY_WEIGHT), 5);
    assert_int_equal(cv_graph_step(&graph, 1, 0, CV_BY_WEIGHT), 7);
    assert_int_equal(cv_graph_step(&graph, 1, 0, CV_BY_HOPS), 1);
    assert_int_equal(cv_graph_step(&graph, 1, 2, CV_BY_WEIGHT), CV_NO_WAY);
    assert_int_equal(cv_graph_step(&graph, 1, 2, CV_BY_HOPS), CV_NO_WAY);
    assert_int_equal(cv_graph_step(&graph, 2, 1, CV_BY_WEIGHT), 0);
    assert_int_equal(cv_graph_step(&graph, 0, 2, CV_BY_WEIGHT), CV_NO_WAY);
    assert_int_equal(cv_graph_step(&graph, 3, 0, CV_BY_WEIGHT), CV_NO_WAY);
    cv_graph_free(&graph);
}

/* ---- the gadget ------------------------------------------------------------------------------------- */

static struct cv_graph make_gadget(const char *spec, uint32_t nodes)
{
    struct cv_graph graph;
    struct cv_random random;
    struct cv_complaint complaint = {""};
    cv_random_seed(&random, 1, 1);
    assert_int_equal(cv_graph_make(&graph, spec, nodes, &random, &complaint), 0);
    return graph;
}

static void a_gadget_has_two_ways_down_every_rung(void **state)
{
    (void)state;
    struct cv_graph graph = make_gadget("gadget:3", 7);
    assert_int_equal(cv_graph_edge_count(&graph), 9);
    const struct {
        cv_node from, to;
        uint32_t weight;
    } ways[] = {{0, 1, 0}, {1, 2, 0}, {0, 2, 4}, {2, 3, 0}, {3, 4, 0}, {2, 4, 2}, {4, 5, 0}, {5, 6, 0}, {4, 6, 1}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(cv_graph_step(&graph, ways[i].from, ways[i].to, CV_BY_WEIGHT), ways[i].weight);
        assert_int_equal(cv_graph_step(&graph, ways[i].to, ways[i].from, CV_BY_WEIGHT), CV_NO_WAY);
    }
    cv_graph_free(&graph);
}

static void a_gadget_is_of_a_size(void **state)
{
    (void)state;
    assert_int_equal(cv_graph_gadget("gadget:1"), 1);
    assert_int_equal(cv_graph_gadget("gadget:24"), 24);
    static const char *const wrong[] = {"gadget:0", "gadget:25", "gadget:", "gadget:x", "gadget:1x", "gadget", "ring"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cv_graph_gadget(wrong[i]), 0);
    struct cv_graph graph;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_graph_make(&graph, "gadget:25", 51, NULL, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "topology 'gadget:25': expected gadget:K, K of 1..24");
    assert_int_equal(cv_graph_make(&graph, "gadget:6", 12, NULL, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "topology 'gadget:6' has 13 nodes, the group has 12");
}

/* The scenario that the words of the command line make; to be freed. */
static struct cv_scenario planned(const struct cv_plan *words)
{
    struct cv_scenario scenario;
    struct cv_complaint complaint = {""};
    struct cv_plan plan = *words;
    plan.algorithm = cv_algorithm_find("bellman-ford-async");
    if (cv_plan_build(&plan, &scenario, &complaint))
        fail_msg("%s", complaint.text);
    return scenario;
}

static void a_gadget_is_slow_where_it_costs_nothing(void **state)
{
    (void)state;
    struct cv_scenario scenario = planned(&(struct cv_plan){.graph = "gadget:3"});
    assert_int_equal(scenario.group.nodes, 7);
    assert_int_equal(scenario.lag_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(scenario.lags[i].pair.one, 2 * i + 1);
        assert_int_equal(scenario.lags[i].pair.other, 2 * i + 2);
        assert_int_equal(scenario.lags[i].ticks, (8 >> i) - 1);
    }
    assert_true(cv_theory_conditions(&scenario) & CV_SLOW_GADGET);
    cv_scenario_free(&scenario);
}

static void the_user_knows_better_how_slow_it_is(void **state)
{
    (void)state;
    const char *lag = "2:3=9";
    struct cv_scenario scenario = planned(&(struct cv_plan){.graph = "gadget:3", .delay = "unit"});
    assert_int_equal(scenario.lag_count, 0);
    assert_false(cv_theory_conditions(&scenario) & CV_SLOW_GADGET);
    cv_scenario_free(&scenario);
    scenario = planned(&(struct cv_plan){.graph = "gadget:3", .lag = {&lag, 1}});
    assert_int_equal(scenario.lag_count, 4);
    assert_int_equal(scenario.lags[3].ticks, 9); /* the last that fits counts */
    assert_false(cv_theory_conditions(&scenario) & CV_SLOW_GADGET);
    cv_scenario_free(&scenario);
}

/* From a later node than the first there are fewer paths. */
static void the_formula_is_for_the_first_node(void **state)
{
    (void)state;
    const char *source = "source=3";
    struct cv_scenario scenario = planned(&(struct cv_plan){.graph = "gadget:3", .set = {&source, 1}});
    assert_int_equal(cv_scenario_source(&scenario), 2);
    assert_false(cv_theory_conditions(&scenario) & CV_SLOW_GADGET);
    cv_scenario_free(&scenario);
    scenario = planned(&(struct cv_plan){.graph = "gadget:3", .ids = "7,6,5,4,3,2,1"});
    assert_int_equal(cv_scenario_source(&scenario), 6);
    assert_false(cv_theory_conditions(&scenario) & CV_SLOW_GADGET);
    cv_scenario_free(&scenario);
}

/* ---- the judge -------------------------------------------------------------------------------------- */

#define NODES 4u

/* 10 is the source; 20 is 3 away, 30 is 5 away over 20, and nothing leads to 40. */
struct made_up {
    struct cv_algorithm algorithm;
    struct cv_scenario scenario;
    cv_id ids[NODES];
    int64_t parameters[1];
    struct cv_standing standing[NODES];
    struct cv_run run;
    struct cv_judgement judgement;
};

static struct cv_standing stand(const void *runtime, cv_node node)
{
    return ((const struct made_up *)runtime)->standing[node];
}

/* Every node has finished. */
static uint64_t round_of(const void *runtime, cv_node node)
{
    (void)node;
    return ((const struct made_up *)runtime)->scenario.group.rounds + 1;
}

static const struct cv_kind kinds[] = {{"way", 0, NULL, false}, {0}};
static const struct cv_parameter parameters[] = {{"source", "of all", NULL, 0, CV_MEMBER, 0}, {0}};

static void make_up(struct made_up *it)
{
    *it = (struct made_up){.algorithm = {.abi = CV_ABI,
                                         .problem = CV_PATHS,
                                         .name = "made-up",
                                         .topology = CV_GRAPH,
                                         .claims = CV_SHORTEST_PATHS,
                                         .parameters = parameters,
                                         .kinds = kinds},
                           .ids = {10, 20, 30, 40}};
    struct edge_list edges = {0};
    edge_list_add(&edges, (struct graph_edge){0, 1, 0, 3, CV_NO_WAY});
    edge_list_add(&edges, (struct graph_edge){1, 2, 0, 2, 2});
    edge_list_add(&edges, (struct graph_edge){0, 2, 0, 6, 6});
    edge_list_add(&edges, (struct graph_edge){2, 3, 0, CV_NO_WAY, 1});
    assert_int_equal(graph_build(&it->scenario.graph, NODES, &edges), 0);
    it->scenario.algorithm = &it->algorithm;
    it->scenario.group = (struct cv_group){.ids = it->ids, .nodes = NODES, .topology = CV_GRAPH, .bound = 1};
    it->scenario.ids = it->ids;
    it->scenario.parameters = it->parameters;
    it->standing[0] = (struct cv_standing){.alive = true, .updates = 1, .result = 0, .via = 0};
    it->standing[1] = (struct cv_standing){.alive = true, .updates = 1, .result = 3, .via = 0};
    it->standing[2] = (struct cv_standing){.alive = true, .updates = 2, .result = 5, .via = 1};
    it->standing[3] = (struct cv_standing){.alive = true, .updates = 0};
    it->run = (struct cv_run){
        .scenario = &it->scenario, .runtime = it, .standing = stand, .round = round_of, .ending = CV_QUIET};
}

/* An empty detail: the results are right. */
static void expect(struct made_up *it, enum cv_verdict verdict, const char *name, const char *detail)
{
    judged(&it->run, &it->judgement);
    assert_int_equal(judged_finding(&it->judgement, name)->verdict, verdict);
    assert_string_equal(judged_finding(&it->judgement, name)->detail, detail);
    cv_graph_free(&it->scenario.graph);
}

static void right_results_hold(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    expect(&it, CV_HELD, "shortest-paths", "");
    make_up(&it);
    it.algorithm.claims = CV_FEWEST_HOPS;
    it.standing[1].result = it.standing[2].result = 1;
    it.standing[2].via = 0;
    expect(&it, CV_HELD, "fewest-hops", "");
}

static void wrong_results_are_found(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[2].result = 6;
    it.standing[2].via = 0;
    expect(&it, CV_VIOLATED, "shortest-paths", "node 30 has come to 6, it is 5 from the source");
    make_up(&it);
    it.standing[2].via = 0;
    expect(&it, CV_VIOLATED, "shortest-paths", "node 30 names 10, but no shortest path leads over it");
    make_up(&it);
    it.standing[1].via = 2;
    expect(&it, CV_VIOLATED, "shortest-paths", "node 20 names 30, but no shortest path leads over it");
    make_up(&it);
    it.standing[1].updates = 0;
    expect(&it, CV_VIOLATED, "shortest-paths", "node 20 has no result, but is 3 from the source");
    make_up(&it);
    it.standing[3].updates = 1;
    it.standing[3].result = 6;
    expect(&it, CV_VIOLATED, "shortest-paths", "node 40 has come to 6, but no path leads there");
}

static void nothing_is_asked_of_a_run_that_was_cut_short(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[1].updates = 0;
    it.run.ending = CV_OUT_OF_TIME;
    expect(&it, CV_UNFINISHED, "shortest-paths", "node 20 has no result, but is 3 from the source");
}

/* With too few rounds the app promises less, but its results may be right. */
static void too_few_rounds_promise_nothing(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.scenario.app = &it.algorithm;
    it.scenario.app_parameters = it.parameters;
    it.scenario.group.rounds = NODES - 2;
    it.standing[2].result = 6;
    it.standing[2].via = 0;
    expect(&it, CV_DISCLAIMED, "shortest-paths",
           "node 30 has come to 6, it is 5 from the source; rounds=2 may be too few");
    make_up(&it);
    it.scenario.app = &it.algorithm;
    it.scenario.app_parameters = it.parameters;
    it.scenario.group.rounds = NODES - 2;
    expect(&it, CV_HELD, "shortest-paths", "");
}

static void the_dead_carry_no_paths(void **state)
{
    (void)state;
    struct made_up it;
    struct cv_crash crash = {.node = 1, .moment = CV_AT, .time = 0};
    make_up(&it);
    it.scenario.crashes = &crash;
    it.scenario.crash_count = 1;
    it.standing[1].alive = false;
    it.standing[2].result = 6;
    it.standing[2].via = 0;
    expect(&it, CV_HELD, "shortest-paths", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_those_of_floyd_and_warshall),
        cmocka_unit_test(a_step_costs_what_its_direction_costs),
        cmocka_unit_test(a_gadget_has_two_ways_down_every_rung),
        cmocka_unit_test(a_gadget_is_of_a_size),
        cmocka_unit_test(a_gadget_is_slow_where_it_costs_nothing),
        cmocka_unit_test(the_user_knows_better_how_slow_it_is),
        cmocka_unit_test(the_formula_is_for_the_first_node),
        cmocka_unit_test(right_results_hold),
        cmocka_unit_test(wrong_results_are_found),
        cmocka_unit_test(nothing_is_asked_of_a_run_that_was_cut_short),
        cmocka_unit_test(too_few_rounds_promise_nothing),
        cmocka_unit_test(the_dead_carry_no_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
