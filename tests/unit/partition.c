// SPDX-License-Identifier: MIT
#include "partition/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/graph/graph_make.h"
#include "partition/metis_cut.h"

#define MOST_NODES 40u /* of the random graphs that a naive count goes through */

typedef int partitioner(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of);
static partitioner *const partitioners[] = {cv_partition, cv_partition_blocks};
#define PARTITIONERS (sizeof partitioners / sizeof *partitioners)

static struct cv_graph make(const char *spec, uint32_t nodes, uint64_t seed)
{
    struct cv_graph graph;
    struct cv_random random;
    struct cv_complaint complaint = {""};
    cv_random_seed(&random, seed, 0);
    if (cv_graph_make(&graph, spec, nodes, &random, &complaint) != 0)
        fail_msg("%s", complaint.text);
    return graph;
}

static struct cv_partition_rows rows_of(const struct cv_graph *graph)
{
    return (struct cv_partition_rows){graph->edges, graph->neighbours, graph->nodes};
}

/* Counts over a matrix of edges, and by looking at every pair of nodes. */
static struct cv_partition_quality count_naively(const struct cv_partition_rows *rows, uint32_t parts,
                                                 const uint16_t *part_of)
{
    static bool joined[MOST_NODES][MOST_NODES];
    struct cv_partition_quality found = {.least_nodes = UINT32_MAX};
    uint64_t total = rows->nodes, most = 0;
    memset(joined, 0, sizeof joined);
    for (uint32_t a = 0; a < rows->nodes; a++)
        for (uint64_t i = rows->edges[a]; i < rows->edges[a + 1]; i++)
            joined[a][rows->neighbours[i]] = true;
    for (uint32_t a = 0; a < rows->nodes; a++) {
        bool boundary = false;
        for (uint32_t b = 0; b < rows->nodes; b++) {
            total += joined[a][b];
            boundary |= joined[a][b] && part_of[a] != part_of[b];
            found.cut_edges += a < b && joined[a][b] && part_of[a] != part_of[b];
        }
        found.boundary_nodes += boundary;
    }
    for (uint32_t part = 0; part < parts; part++) {
        uint64_t weight = 0;
        uint32_t nodes = 0;
        for (uint32_t a = 0; a < rows->nodes; a++)
            if (part_of[a] == part) {
                nodes++;
                weight++;
                for (uint32_t b = 0; b < rows->nodes; b++)
                    weight += joined[a][b];
            }
        most = weight > most ? weight : most;
        found.most_nodes = nodes > found.most_nodes ? nodes : found.most_nodes;
        found.least_nodes = nodes < found.least_nodes ? nodes : found.least_nodes;
    }
    found.most_weight = (double)most * parts / (double)total;
    return found;
}

/* Every node has a part, and no part is empty that could have a node. */
static void check_parts(const struct cv_partition_rows *rows, uint32_t parts, const uint16_t *part_of)
{
    uint32_t *counts = calloc(parts, sizeof *counts);
    for (uint32_t i = 0; i < rows->nodes; i++) {
        assert_true(part_of[i] < parts);
        counts[part_of[i]]++;
    }
    for (uint32_t part = 0; part < parts && parts <= rows->nodes; part++)
        assert_true(counts[part] > 0);
    free(counts);
}

/* Nothing but the answer: METIS would write its complaints between the lines of a report. */
static void partition_silently(partitioner *partition, const struct cv_partition_rows *rows, uint32_t parts,
                               uint16_t *part_of)
{
    FILE *written = tmpfile();
    assert_non_null(written);
    fflush(stdout);
    const int output = dup(STDOUT_FILENO);
    assert_true(output >= 0 && dup2(fileno(written), STDOUT_FILENO) >= 0);
    const int result = partition(rows, parts, part_of);
    fflush(stdout);
    assert_true(dup2(output, STDOUT_FILENO) >= 0);
    close(output);
    assert_int_equal(result, 0);
    assert_int_equal(lseek(fileno(written), 0, SEEK_END), 0);
    fclose(written);
}

static struct cv_partition_quality cut(const struct cv_graph *graph, partitioner *partition, uint32_t parts)
{
    const struct cv_partition_rows rows = rows_of(graph);
    uint16_t *part_of = malloc(graph->nodes * sizeof *part_of), *again = malloc(graph->nodes * sizeof *again);
    struct cv_partition_quality quality;
    memset(part_of, 0xff, graph->nodes * sizeof *part_of);
    partition_silently(partition, &rows, parts, part_of);
    check_parts(&rows, parts, part_of);
    (void)rand(); /* the answer does not depend on what was drawn before */
    partition_silently(partition, &rows, parts, again);
    assert_memory_equal(part_of, again, graph->nodes * sizeof *again);
    assert_int_equal(cv_partition_measure(&rows, parts, part_of, &quality), 0);
    free(part_of);
    free(again);
    return quality;
}

static void measures_as_a_naive_count_does(void **state)
{
    (void)state;
    static const char *const specs[] = {"random:60", "tree", "star", "geometric:0.3", "ring", "complete"};
    struct cv_random random;
    cv_random_seed(&random, 5, 0);
    for (uint32_t i = 0; i < 60; i++) {
        struct cv_graph graph = make(specs[i % 6], MOST_NODES - i % 5, i);
        const struct cv_partition_rows rows = rows_of(&graph);
        const uint32_t parts = 1 + i % 7;
        uint16_t part_of[MOST_NODES];
        for (uint32_t node = 0; node < graph.nodes; node++)
            part_of[node] = (uint16_t)cv_random_below(&random, parts);
        struct cv_partition_quality quality, naive = count_naively(&rows, parts, part_of);
        assert_int_equal(cv_partition_measure(&rows, parts, part_of, &quality), 0);
        assert_int_equal(quality.cut_edges, naive.cut_edges);
        assert_int_equal(quality.boundary_nodes, naive.boundary_nodes);
        assert_int_equal(quality.least_nodes, naive.least_nodes);
        assert_int_equal(quality.most_nodes, naive.most_nodes);
        assert_true(quality.most_weight == naive.most_weight);
        cv_graph_free(&graph);
    }
}

static void leaves_no_part_empty(void **state)
{
    (void)state;
    static const char *const specs[] = {"random:40", "tree", "star", "ring", "complete", "line"};
    for (uint32_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (uint32_t parts = 1; parts <= 35; parts++)
            for (uint32_t p = 0; p < PARTITIONERS; p++) {
                struct cv_graph graph = make(specs[i], 30, parts);
                cut(&graph, partitioners[p], parts);
                cv_graph_free(&graph);
            }
}

/* Where the least cut is known: P parts of a ring cut P edges, of a line P - 1, two halves of a grid one row. */
static void finds_the_least_cut_where_it_is_known(void **state)
{
    (void)state;
    for (uint32_t parts = 2; parts <= 9; parts++)
        for (uint32_t p = 0; p < PARTITIONERS; p++) {
            struct cv_graph ring = make("ring", 1000, 1), line = make("line", 1000, 1);
            assert_int_equal(cut(&ring, partitioners[p], parts).cut_edges, parts);
            assert_int_equal(cut(&line, partitioners[p], parts).cut_edges, parts - 1);
            cv_graph_free(&ring);
            cv_graph_free(&line);
        }
    struct cv_graph grid = make("grid:60x20", 1200, 1);
    assert_int_equal(cut(&grid, cv_partition, 2).cut_edges, 20);
    assert_int_equal(cut(&grid, cv_partition_blocks, 2).cut_edges, 20);
    cv_graph_free(&grid);
}

/*
 * A random cut into P parts has (P-1)/P of the edges. A disc of m points has about sqrt(m) at its edge, so a geometric
 * graph can be cut by far fewer; its nodes are in no good order. A tree of degree 3 has a few edges that do it, but
 * runs of a breadth-first order cut almost as many as chance does.
 */
static void cuts_few_edges_and_shares_the_weight(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double most[2]; /* of the edges that a random cut has: with METIS, by blocks */
    } graphs[] = {{"geometric:0.02", {0.1, 0.25}}, {"tree", {0.02, 1}}, {"random:10000", {0.4, 0.9}}};
    for (uint32_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        for (uint32_t parts = 2; parts <= 8; parts += 3)
            for (uint32_t p = 0; p < PARTITIONERS; p++) {
                struct cv_graph graph = make(graphs[i].spec, 8000, 3);
                const struct cv_partition_quality quality = cut(&graph, partitioners[p], parts);
                const double most = graphs[i].most[partitioners[p] == cv_partition && metis_is_there() ? 0 : 1];
                const double by_chance = (double)cv_graph_edge_count(&graph) * (parts - 1) / parts;
                if ((double)quality.cut_edges > most * by_chance || quality.most_weight > 1.05)
                    fail_msg("%s, %u parts, %s: %g of the edges of a random cut, most weight %g", graphs[i].spec, parts,
                             p ? "blocks" : "best", (double)quality.cut_edges / by_chance, quality.most_weight);
                cv_graph_free(&graph);
            }
}

/* The hub of a star weighs half of all: it is alone in its part, and the others share the leaves. */
static void a_heavy_node_leaves_the_rest_shared(void **state)
{
    (void)state;
    struct cv_graph graph = make("star", 3001, 1);
    const struct cv_partition_rows rows = rows_of(&graph);
    uint16_t part_of[3001];
    uint32_t counts[4] = {0};
    assert_int_equal(cv_partition_blocks(&rows, 4, part_of), 0);
    for (uint32_t i = 0; i < 3001; i++)
        counts[part_of[i]]++;
    assert_int_equal(counts[part_of[0]], 1);
    for (uint32_t part = 0; part < 4; part++)
        assert_true(part == part_of[0] || counts[part] == 1000);
    cv_graph_free(&graph);
}

static void takes_graphs_in_pieces_and_without_edges(void **state)
{
    (void)state;
    static const uint64_t edges[] = {0, 1, 2, 2, 2, 3, 4};
    static const cv_node neighbours[] = {1, 0, 5, 4};
    uint16_t part_of[6];
    for (uint32_t parts = 1; parts <= 8; parts++)
        for (uint32_t p = 0; p < PARTITIONERS; p++)
            for (uint32_t nodes = 0; nodes <= 6; nodes += 3) { /* nodes 0..2 have no edge to the others */
                const struct cv_partition_rows rows = {edges, neighbours, nodes};
                assert_int_equal(partitioners[p](&rows, parts, part_of), 0);
                check_parts(&rows, parts, part_of);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_as_a_naive_count_does),
        cmocka_unit_test(leaves_no_part_empty),
        cmocka_unit_test(finds_the_least_cut_where_it_is_known),
        cmocka_unit_test(cuts_few_edges_and_shares_the_weight),
        cmocka_unit_test(a_heavy_node_leaves_the_rest_shared),
        cmocka_unit_test(takes_graphs_in_pieces_and_without_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
