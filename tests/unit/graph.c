// SPDX-License-Identifier: MIT
#include "core/graph/graph.h"
#include "core/graph/graph_make.h"
#include "core/graph/graph_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static bool joined(const struct cv_graph *graph, cv_node a, cv_node b)
{
    for (uint64_t i = graph->edges[a]; i < graph->edges[a + 1]; i++)
        if (graph->neighbours[i] == b)
            return true;
    return false;
}

/* Rows are sorted, have no node twice and not their own, and agree with each other, also in the weights. */
static void check_rows(const struct cv_graph *graph)
{
    assert_int_equal(graph->edges[0], 0);
    for (cv_node node = 0; node < graph->nodes; node++)
        for (uint64_t i = graph->edges[node]; i < graph->edges[node + 1]; i++) {
            const cv_node other = graph->neighbours[i];
            assert_true(other < graph->nodes && other != node);
            assert_true(i == graph->edges[node] || graph->neighbours[i - 1] < other);
            uint64_t back = graph->edges[other];
            while (back < graph->edges[other + 1] && graph->neighbours[back] != node)
                back++;
            assert_true(back < graph->edges[other + 1]);
            assert_true(!graph->weights || graph->weights[i] == graph->weights[back]);
        }
}

static struct cv_graph make(const char *spec, uint32_t nodes, uint64_t seed)
{
    struct cv_graph graph;
    struct cv_random random;
    struct cv_complaint complaint = {""};
    cv_random_seed(&random, seed, 0);
    if (cv_graph_make(&graph, spec, nodes, &random, &complaint) != 0)
        fail_msg("%s", complaint.text);
    assert_int_equal(graph.nodes, nodes);
    assert_null(graph.weights);
    assert_int_equal(cv_graph_components(&graph, NULL), 1);
    return graph;
}

static void expect_edges(const char *spec, uint32_t nodes, uint64_t edges)
{
    struct cv_graph graph = make(spec, nodes, 1);
    check_rows(&graph);
    assert_int_equal(cv_graph_edge_count(&graph), edges);
    cv_graph_free(&graph);
}

static void shapes_have_their_edges(void **state)
{
    (void)state;
    expect_edges("ring", 1, 0);
    expect_edges("ring", 2, 1);
    expect_edges("ring", 3, 3);
    expect_edges("ring", 100, 100);
    expect_edges("line", 1, 0);
    expect_edges("line", 5, 4);
    expect_edges("star", 7, 6);
    expect_edges("tree", 10, 9);
    expect_edges("complete", 1, 0);
    expect_edges("complete", 9, 36);
    expect_edges("grid:1x1", 1, 0);
    expect_edges("grid:3x4", 12, 17);
    expect_edges("grid:5x1", 5, 4);
    expect_edges("random:0", 1, 0);
    expect_edges("random:1", 2, 1);
    expect_edges("geometric:0.5", 1, 0);
    expect_edges("geometric:1.5", 30, 435);
}

static void shapes_have_their_form(void **state)
{
    (void)state;
    struct cv_graph tree = make("tree", 7, 1), grid = make("grid:2x3", 6, 1), star = make("star", 5, 1);
    assert_true(joined(&tree, 0, 1) && joined(&tree, 0, 2) && joined(&tree, 1, 4) && joined(&tree, 6, 2));
    assert_true(joined(&grid, 0, 1) && joined(&grid, 0, 3) && joined(&grid, 2, 5) && !joined(&grid, 2, 3));
    assert_int_equal(cv_graph_degree(&star, 0), 4);
    cv_graph_free(&tree);
    cv_graph_free(&grid);
    cv_graph_free(&star);
    assert_null(star.edges);
    cv_graph_free(&star);
}

static void random_graphs_have_as_many_edges_as_asked(void **state)
{
    (void)state;
    for (uint64_t edges = 19; edges <= 190; edges++) {
        char spec[32];
        snprintf(spec, sizeof spec, "random:%d", (int)edges);
        struct cv_graph graph = make(spec, 20, edges);
        check_rows(&graph);
        assert_int_equal(cv_graph_edge_count(&graph), edges);
        cv_graph_free(&graph);
    }
    struct cv_graph large = make("random:1000000", 100000, 1);
    assert_int_equal(cv_graph_edge_count(&large), 1000000);
    cv_graph_free(&large);
}

/* Each of the 16 trees on four nodes, 12 paths and 4 stars, is as likely as any other. */
static void random_trees_are_uniform(void **state)
{
    (void)state;
    struct cv_random random;
    struct cv_complaint complaint;
    int seen[64] = {0}, trees = 0;
    cv_random_seed(&random, 7, 0);
    for (int run = 0; run < 16000; run++) {
        struct cv_graph graph;
        assert_int_equal(cv_graph_make(&graph, "random:3", 4, &random, &complaint), 0);
        unsigned bits = 0;
        for (cv_node a = 0; a < 4; a++)
            for (cv_node b = a + 1; b < 4; b++)
                bits = bits << 1 | joined(&graph, a, b);
        seen[bits]++;
        cv_graph_free(&graph);
    }
    for (int i = 0; i < 64; i++)
        if (seen[i]) {
            trees++;
            assert_in_range(seen[i], 850, 1150);
        }
    assert_int_equal(trees, 16);
}

/* ---- geometric graphs, against all pairs ---- */

#define POINTS 120u

static uint64_t length(const uint64_t *x, const uint64_t *y, cv_node a, cv_node b)
{
    const int64_t dx = (int64_t)(x[a] - x[b]), dy = (int64_t)(y[a] - y[b]);
    return (uint64_t)(dx * dx + dy * dy);
}

/* Renames the component `from` to `to`, node by node. */
static bool merge(cv_node *component, cv_node from, cv_node to)
{
    const cv_node old = component[from], new = component[to];
    for (cv_node node = 0; node < POINTS; node++)
        if (component[node] == old)
            component[node] = new;
    return old != new;
}

static void expect_geometric(const char *spec, uint64_t radius, uint64_t seed)
{
    struct cv_graph graph = make(spec, POINTS, seed);
    check_rows(&graph);
    uint64_t x[POINTS], y[POINTS], edges = 0;
    cv_node component[POINTS];
    struct cv_random random;
    cv_random_seed(&random, seed, 0);
    for (cv_node node = 0; node < POINTS; node++) {
        x[node] = cv_random_below(&random, (1u << 30) + 1);
        y[node] = cv_random_below(&random, (1u << 30) + 1);
        component[node] = node;
    }
    for (cv_node a = 0; a < POINTS; a++)
        for (cv_node b = a + 1; b < POINTS; b++)
            if (length(x, y, a, b) < radius * radius) {
                merge(component, a, b);
                assert_true(joined(&graph, a, b));
                edges++;
            }
    for (;;) {
        cv_node best_a = 0, best_b = 0;
        uint64_t best = UINT64_MAX;
        for (cv_node a = 0; a < POINTS; a++)
            for (cv_node b = a + 1; b < POINTS; b++)
                if (component[a] != component[b] && length(x, y, a, b) < best) {
                    best = length(x, y, a, b);
                    best_a = a;
                    best_b = b;
                }
        if (best == UINT64_MAX)
            break;
        merge(component, best_a, best_b);
        assert_true(joined(&graph, best_a, best_b));
        edges++;
    }
    assert_int_equal(cv_graph_edge_count(&graph), edges);
    cv_graph_free(&graph);
}

static void geometric_graphs_join_the_near_and_the_components(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        expect_geometric("geometric:0.000000001", 2, seed);
        expect_geometric("geometric:.05", 53687092, seed);
        expect_geometric("geometric:0.1", 107374183, seed);
        expect_geometric("geometric:0.25", 1u << 28, seed);
        expect_geometric("geometric:1", 1u << 30, seed);
    }
}

/* ---- questions ---- */

static struct cv_graph parse(const char *text, uint32_t nodes)
{
    struct cv_graph graph;
    struct cv_complaint complaint = {""};
    cv_id ids[100];
    for (uint32_t i = 0; i < nodes; i++)
        ids[i] = i;
    if (cv_graph_parse(&graph, text, ids, nodes, "test", &complaint) != 0)
        fail_msg("%s", complaint.text);
    check_rows(&graph);
    return graph;
}

static void components_are_numbered_by_their_first_nodes(void **state)
{
    (void)state;
    struct cv_graph graph = parse("0 5\n3 1\n5 4\n", 7);
    uint32_t label[7];
    assert_int_equal(cv_graph_components(&graph, label), 4);
    const uint32_t expected[7] = {0, 1, 2, 1, 0, 0, 3};
    assert_memory_equal(label, expected, sizeof label);
    cv_graph_free(&graph);
}

static void expect_eccentricity(const char *text, uint32_t nodes, cv_node source, uint32_t distance, bool branching)
{
    struct cv_graph graph = parse(text, nodes);
    bool deep = !branching;
    assert_int_equal(cv_graph_eccentricity(&graph, source, &deep), distance);
    assert_int_equal(cv_graph_eccentricity(&graph, source, NULL), distance);
    assert_int_equal(deep, branching);
    cv_graph_free(&graph);
}

static void eccentricity_is_the_farthest_distance(void **state)
{
    (void)state;
    expect_eccentricity("", 1, 0, 0, false);
    expect_eccentricity("1 2", 3, 0, 0, false);
    expect_eccentricity("0 1\n1 2\n2 3", 4, 0, 3, false);
    expect_eccentricity("0 1\n1 2\n2 3", 4, 1, 2, false);
    expect_eccentricity("0 1\n1 2\n2 0", 3, 0, 1, true);
    expect_eccentricity("0 1\n1 2\n2 3\n3 0", 4, 0, 2, true);
    expect_eccentricity("0 1\n0 2\n1 3\n2 4", 5, 0, 2, false);
    expect_eccentricity("0 1\n0 2\n1 3\n2 4\n3 4", 5, 0, 2, true);
    expect_eccentricity("0 1\n1 2\n0 2\n2 3", 4, 0, 2, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_have_their_edges),
        cmocka_unit_test(shapes_have_their_form),
        cmocka_unit_test(random_graphs_have_as_many_edges_as_asked),
        cmocka_unit_test(random_trees_are_uniform),
        cmocka_unit_test(geometric_graphs_join_the_near_and_the_components),
        cmocka_unit_test(components_are_numbered_by_their_first_nodes),
        cmocka_unit_test(eccentricity_is_the_farthest_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
