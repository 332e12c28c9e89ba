// SPDX-License-Identifier: MIT
/* The users' input: specs and graph files, right and wrong. */
#include "core/graph/graph.h"
#include "core/graph/graph_make.h"
#include "core/graph/graph_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void refuse_spec(const char *spec, uint32_t nodes, const char *words)
{
    struct cv_graph graph;
    struct cv_random random;
    struct cv_complaint complaint = {""};
    cv_random_seed(&random, 1, 0);
    assert_int_equal(cv_graph_make(&graph, spec, nodes, &random, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, words);
    assert_null(graph.edges);
}

static void wrong_specs_are_refused(void **state)
{
    (void)state;
    refuse_spec("torus", 4, "topology 'torus': expected " CV_GRAPH_SPECS "or edges");
    refuse_spec("", 4, "topology '': expected " CV_GRAPH_SPECS "or edges");
    refuse_spec("ring:4", 4, "topology 'ring:4': expected " CV_GRAPH_SPECS "or edges");
    refuse_spec("grid", 4, "topology 'grid': expected " CV_GRAPH_SPECS "or edges");
    refuse_spec("ring", 0, "topology 'ring' needs at least one node");
}

static void wrong_grids_are_refused(void **state)
{
    (void)state;
    refuse_spec("grid:3x3", 10, "topology 'grid:3x3' has 9 nodes, the group has 10");
    refuse_spec("grid:4294967295x4294967295", 1,
                "topology 'grid:4294967295x4294967295' has 18446744065119617025 nodes, the group has 1");
    refuse_spec("grid:4294967296x4294967296", 1,
                "topology 'grid:4294967296x4294967296': expected grid:RxC, as in grid:3x4");
    refuse_spec("grid:0x5", 5, "topology 'grid:0x5' has 0 nodes, the group has 5");
    refuse_spec("grid:5", 5, "topology 'grid:5': expected grid:RxC, as in grid:3x4");
    refuse_spec("grid:5x", 5, "topology 'grid:5x': expected grid:RxC, as in grid:3x4");
    refuse_spec("grid:5x1 ", 5, "topology 'grid:5x1 ': expected grid:RxC, as in grid:3x4");
    refuse_spec("grid:-5x-1", 5, "topology 'grid:-5x-1': expected grid:RxC, as in grid:3x4");
}

static void wrong_numbers_of_edges_are_refused(void **state)
{
    (void)state;
    refuse_spec("random:3", 5, "topology 'random:3': connecting 5 nodes takes 4 to 10 edges");
    refuse_spec("random:11", 5, "topology 'random:11': connecting 5 nodes takes 4 to 10 edges");
    refuse_spec("random:", 5, "topology 'random:': connecting 5 nodes takes 4 to 10 edges");
    refuse_spec("random:3", 2, "topology 'random:3': connecting 2 nodes takes 1 to 1 edges");
    refuse_spec("random:5.", 5, "topology 'random:5.': connecting 5 nodes takes 4 to 10 edges");
    refuse_spec("random:18446744073709551621", 5,
                "topology 'random:18446744073709551621': connecting 5 nodes takes 4 to 10 edges");
}

static void wrong_radii_are_refused(void **state)
{
    (void)state;
    static const char *const radii[][2] = {
#define RADIUS(text)                                                                                                   \
    {"geometric:" text,                                                                                                \
     "topology 'geometric:" text "': expected a radius above 0 and up to 1.5, with at most 9 decimals"}
        RADIUS(""),  RADIUS("0"),  RADIUS("0.0"), RADIUS("."),   RADIUS("1."),           RADIUS("1.500000001"),
        RADIUS("2"), RADIUS("-1"), RADIUS("0,5"), RADIUS("1e0"), RADIUS("0.0000000001"), RADIUS("nan"),
#undef RADIUS
    };
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++)
        refuse_spec(radii[i][0], 5, radii[i][1]);
}

/* ---- graph files ---- */

static const cv_id ids[4] = {30, 7, UINT32_MAX, 0};

static void files_give_edges_and_weights(void **state)
{
    (void)state;
    struct cv_graph graph;
    struct cv_complaint complaint = {""};
    const char *text = "# a graph\n\n 30\t7 5 # five\r\n7 4294967295 4294967294\n  #\n0 30 0\n7 0";
    assert_int_equal(cv_graph_parse(&graph, text, ids, 4, "file", &complaint), 0);
    const uint64_t edges[] = {0, 2, 5, 6, 8};
    const cv_node neighbours[] = {1, 3, 0, 2, 3, 1, 0, 1};
    const uint32_t weights[] = {5, 0, 5, UINT32_MAX - 1, 1, UINT32_MAX - 1, 0, 1};
    assert_memory_equal(graph.edges, edges, sizeof edges);
    assert_memory_equal(graph.neighbours, neighbours, sizeof neighbours);
    assert_memory_equal(graph.weights, weights, sizeof weights);
    cv_graph_free(&graph);

    assert_int_equal(cv_graph_parse(&graph, "30 7 1\n7 0\n", ids, 4, "file", &complaint), 0);
    assert_null(graph.weights);
    cv_graph_free(&graph);
    assert_int_equal(cv_graph_parse(&graph, "", ids, 4, "file", &complaint), 0);
    assert_int_equal(cv_graph_components(&graph, NULL), 4);
    cv_graph_free(&graph);
}

static void refuse_file(const char *text, const char *words)
{
    struct cv_graph graph;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_graph_parse(&graph, text, ids, 4, "file", &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, words);
    assert_null(graph.edges);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    refuse_file("30 7\n\n30 8\n", "file:3: id 8 is not in the group");
    refuse_file("30 7\n7 7\n", "file:2: id 7 is joined to itself");
    refuse_file("0 7\n30 7\n0 30\n7 30\n7 0", "file:4: the edge of 30 and 7 stands in line 2 already");
    refuse_file("30 7 3\n30 7 4", "file:2: the edge of 30 and 7 stands in line 1 already");
    refuse_file("# x\n30\n", "file:2: expected two ids and perhaps a weight: a b [weight]");
    refuse_file("30 # 7\n", "file:1: expected two ids and perhaps a weight: a b [weight]");
    refuse_file("30 7 1 1", "file:1: expected two ids and perhaps a weight: a b [weight]");
    refuse_file("30 7x", "file:1: id '7x' is not a number from 0 to 4294967295");
    refuse_file("-30 7", "file:1: id '-30' is not a number from 0 to 4294967295");
    refuse_file("4294967296 7", "file:1: id '4294967296' is not a number from 0 to 4294967295");
    refuse_file("30 7 4294967295", "file:1: weight '4294967295' is not a number from 0 to 4294967294");
    refuse_file("30 7 99999999999999999999999",
                "file:1: weight '99999999999999999999999' is not a number from 0 to 4294967294");
    refuse_file("30 7 1.5", "file:1: weight '1.5' is not a number from 0 to 4294967294");
    refuse_file("x y z", "file:1: id 'x' is not a number from 0 to 4294967295");
    refuse_file("30,7", "file:1: expected two ids and perhaps a weight: a b [weight]");
}

static void the_ids_of_a_file_ascend(void **state)
{
    (void)state;
    cv_id *found;
    uint32_t count;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_graph_ids("9 3\n3 4294967295 7\n9 0 # 5\n", "file", &found, &count, &complaint), 0);
    const cv_id expected[] = {0, 3, 9, UINT32_MAX};
    assert_int_equal(count, 4);
    assert_memory_equal(found, expected, sizeof expected);
    free(found);
    assert_int_equal(cv_graph_ids("# nothing\n", "file", &found, &count, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "file has no edges");
    assert_int_equal(cv_graph_ids("1 2\n1 x\n", "file", &found, &count, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "file:2: id 'x' is not a number from 0 to 4294967295");
}

/* More lines than the first allocation has room for. */
static void long_files_are_read(void **state)
{
    (void)state;
    char text[3000];
    size_t used = 0;
    for (int i = 100; i < 300; i++)
        used += (size_t)sprintf(text + used, "%d %d\n", i, i + 1);
    cv_id *found;
    uint32_t count;
    struct cv_graph graph;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_graph_ids(text, "file", &found, &count, &complaint), 0);
    assert_int_equal(count, 201);
    assert_int_equal(cv_graph_parse(&graph, text, found, count, "file", &complaint), 0);
    assert_int_equal(cv_graph_edge_count(&graph), 200);
    assert_int_equal(cv_graph_eccentricity(&graph, 0, NULL), 200);
    cv_graph_free(&graph);
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_specs_are_refused),
        cmocka_unit_test(wrong_grids_are_refused),
        cmocka_unit_test(wrong_numbers_of_edges_are_refused),
        cmocka_unit_test(wrong_radii_are_refused),
        cmocka_unit_test(files_give_edges_and_weights),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(the_ids_of_a_file_ascend),
        cmocka_unit_test(long_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
