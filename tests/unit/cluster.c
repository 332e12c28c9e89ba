// SPDX-License-Identifier: MIT
/* Clusters: growing balls keep Awerbuch's promises and agree with a naive model; and clusters from files. */
#include "core/scenario/cluster.h"
#include "core/graph/graph_make.h"
#include "core/graph/graph_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 64u
#define GRAPHS 1500u

struct group {
    struct cv_graph graph;
    cv_id ids[MOST];
    uint32_t nodes;
};

static void make_group(struct group *group, const char *shape, uint32_t nodes, uint64_t seed)
{
    struct cv_complaint complaint = {""};
    struct cv_random random;
    cv_random_seed(&random, seed, 0);
    group->nodes = nodes;
    for (uint32_t i = 0; i < nodes; i++)
        group->ids[i] = 10 + 3 * i;
    cv_random_shuffle(&random, group->ids, nodes);
    if (cv_graph_make(&group->graph, shape, nodes, &random, &complaint))
        fail_msg("%s: %s", shape, complaint.text);
}

/* Some are trees, some nearly complete. */
static void make_random(struct group *group, uint64_t seed)
{
    struct cv_random random;
    char shape[32];
    cv_random_seed(&random, seed, 1);
    const uint32_t nodes = 1 + (uint32_t)cv_random_below(&random, MOST);
    const uint64_t least = nodes - 1, most = (uint64_t)nodes * (nodes - 1) / 2;
    const uint64_t span = cv_random_below(&random, 3) ? 2 * nodes : most;
    const uint64_t edges = least + cv_random_below(&random, (span < most - least ? span : most - least) + 1);
    snprintf(shape, sizeof shape, "random:%llu", (unsigned long long)edges);
    make_group(group, shape, nodes, seed);
}

static bool adjacent(const struct cv_graph *graph, cv_node one, cv_node other)
{
    for (uint64_t i = graph->edges[one]; i < graph->edges[one + 1]; i++)
        if (graph->neighbours[i] == other)
            return true;
    return false;
}

/* ---- what must hold of all clusters ---- */

static cv_node head_of(const struct cv_clusters *clusters, cv_node node)
{
    for (uint32_t steps = 0; clusters->parents[node] != node; steps++) {
        assert_true(steps < MOST);
        node = clusters->parents[node];
    }
    return node;
}

/* Hops from the head to every node over nodes of its cluster: relaxed until nothing changes. */
static void hops_inside(const struct group *group, const cv_node *head, uint32_t *hops)
{
    bool changed = true;
    for (cv_node node = 0; node < group->nodes; node++)
        hops[node] = head[node] == node ? 0 : MOST;
    while (changed) {
        changed = false;
        for (cv_node a = 0; a < group->nodes; a++)
            for (cv_node b = 0; b < group->nodes; b++)
                if (adjacent(&group->graph, a, b) && head[a] == head[b] && hops[a] + 1 < hops[b]) {
                    hops[b] = hops[a] + 1;
                    changed = true;
                }
    }
}

/* The parent of every node is a neighbour in the same cluster, one hop nearer to the head. */
static void expect_trees(const struct group *group, const struct cv_clusters *clusters, const cv_node *head)
{
    uint32_t hops[MOST], heads = 0, height = 0;
    hops_inside(group, head, hops);
    for (cv_node node = 0; node < group->nodes; node++) {
        const cv_node parent = clusters->parents[node];
        heads += parent == node;
        height = hops[node] > height ? hops[node] : height;
        assert_true(parent == node || (adjacent(&group->graph, node, parent) && head[parent] == head[node] &&
                                       hops[node] == hops[parent] + 1));
    }
    assert_int_equal(heads, clusters->count);
    assert_int_equal(height, clusters->height);
}

static bool is_smaller(const struct group *group, const cv_node one[2], const cv_node other[2])
{
    const cv_id a = group->ids[one[0]], b = group->ids[one[1]], c = group->ids[other[0]], d = group->ids[other[1]];
    const cv_id low = a < b ? a : b, high = a < b ? b : a, other_low = c < d ? c : d, other_high = c < d ? d : c;
    return low < other_low || (low == other_low && high < other_high);
}

/* The smallest edge between two clusters, of all there are. */
static bool smallest_between(const struct group *group, const cv_node *head, cv_node one, cv_node other,
                             cv_node best[2])
{
    bool any = false;
    for (cv_node a = 0; a < group->nodes; a++)
        for (cv_node b = 0; b < group->nodes; b++) {
            const cv_node edge[2] = {a, b};
            if (head[a] != one || head[b] != other || !adjacent(&group->graph, a, b) ||
                (any && !is_smaller(group, edge, best)))
                continue;
            memcpy(best, edge, sizeof edge);
            any = true;
        }
    return any;
}

static bool is_preferred(const struct cv_graph *graph, const struct cv_clusters *clusters, cv_node from, cv_node to)
{
    for (uint64_t i = graph->edges[from]; i < graph->edges[from + 1]; i++)
        if (graph->neighbours[i] == to)
            return clusters->preferred[i];
    return false;
}

/* There is one for each pair of neighbouring clusters, marked at both ends, and no others. */
static void expect_preferred(const struct group *group, const struct cv_clusters *clusters, const cv_node *head)
{
    uint64_t marked = 0, pairs = 0;
    for (uint64_t i = 0; i < group->graph.edges[group->nodes]; i++)
        marked += clusters->preferred[i];
    for (cv_node one = 0; one < group->nodes; one++)
        for (cv_node other = 0; other < one; other++) {
            cv_node best[2];
            if (head[one] != one || head[other] != other || !smallest_between(group, head, one, other, best))
                continue;
            pairs++;
            assert_true(is_preferred(&group->graph, clusters, best[0], best[1]));
            assert_true(is_preferred(&group->graph, clusters, best[1], best[0]));
        }
    assert_int_equal(marked, 2 * pairs);
    assert_int_equal(clusters->preferred_edges, pairs);
}

static void expect_good(const struct group *group, const struct cv_clusters *clusters)
{
    cv_node head[MOST];
    for (cv_node node = 0; node < group->nodes; node++)
        head[node] = head_of(clusters, node);
    expect_trees(group, clusters, head);
    expect_preferred(group, clusters, head);
}

/* ---- growing balls ---- */

/* The same by distances: a ball's radius grows by one while that makes it at least k times as large. */
static void expect_balls(const struct group *group, const struct cv_clusters *clusters, uint64_t k)
{
    bool taken[MOST] = {false};
    for (cv_node head = 0; head < group->nodes; head++) {
        uint32_t far[MOST], within[MOST + 1] = {0}, radius = 0;
        cv_node owner[MOST];
        if (taken[head])
            continue;
        for (cv_node node = 0; node < group->nodes; node++)
            owner[node] = taken[node] ? CV_NOBODY : head;
        hops_inside(group, owner, far);
        for (uint32_t hops = 0; hops <= MOST; hops++)
            for (cv_node node = 0; node < group->nodes; node++)
                within[hops] += far[node] < MOST && far[node] <= hops;
        while (within[radius + 1] > within[radius] && within[radius + 1] >= k * within[radius])
            radius++;
        for (cv_node node = 0; node < group->nodes; node++) {
            const bool inside = !taken[node] && far[node] <= radius;
            assert_true(inside == (head_of(clusters, node) == head));
            taken[node] |= inside;
        }
    }
}

/* |P| <= (k − 1)n, and k^H <= n. */
static void expect_bounds(const struct cv_graph *graph, const struct cv_clusters *clusters, uint64_t k)
{
    uint64_t power = 1;
    for (uint32_t i = 0; i < clusters->height && k > 1; i++)
        power *= k;
    assert_true(clusters->preferred_edges <= (k - 1) * graph->nodes);
    assert_true(power <= graph->nodes);
}

static void grow(const struct group *group, struct cv_clusters *clusters, uint64_t k)
{
    assert_int_equal(cv_clusters_grow(clusters, &group->graph, group->ids, k), 0);
    expect_good(group, clusters);
    expect_balls(group, clusters, k);
    expect_bounds(&group->graph, clusters, k);
}

static void balls_of_random_graphs_are_as_promised(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct group group;
        struct cv_clusters clusters;
        make_random(&group, seed);
        grow(&group, &clusters, 1 + seed % 7);
        cv_clusters_free(&clusters);
        cv_graph_free(&group.graph);
    }
}

static void large_graphs_keep_the_bounds(void **state)
{
    (void)state;
    static const char *const shapes[] = {"random:10000", "random:30000", "grid:100x100", "tree", "geometric:0.02"};
    static cv_id ids[10000];
    for (cv_node node = 0; node < 10000; node++)
        ids[node] = node;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct cv_complaint complaint = {""};
        struct cv_random random;
        struct cv_graph graph;
        cv_random_seed(&random, i, 0);
        assert_int_equal(cv_graph_make(&graph, shapes[i], 10000, &random, &complaint), 0);
        for (uint64_t k = 2; k <= 9; k++) {
            struct cv_clusters clusters;
            assert_int_equal(cv_clusters_grow(&clusters, &graph, ids, k), 0);
            expect_bounds(&graph, &clusters, k);
            cv_clusters_free(&clusters);
        }
        cv_graph_free(&graph);
    }
}

static void one_is_a_cluster_for_all_and_many_are_clusters_of_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct group group;
        struct cv_clusters clusters;
        make_random(&group, seed);
        grow(&group, &clusters, 1);
        assert_int_equal(clusters.count, 1);
        assert_int_equal(clusters.preferred_edges, 0);
        assert_int_equal(clusters.height, cv_graph_eccentricity(&group.graph, 0, NULL));
        cv_clusters_free(&clusters);
        grow(&group, &clusters, UINT32_MAX);
        assert_int_equal(clusters.count, group.nodes);
        assert_int_equal(clusters.preferred_edges, cv_graph_edge_count(&group.graph));
        assert_int_equal(clusters.height, 0);
        cv_clusters_free(&clusters);
        cv_graph_free(&group.graph);
    }
}

static void every_component_is_a_cluster_at_least(void **state)
{
    (void)state;
    struct cv_complaint complaint = {""};
    struct group group = {.ids = {1, 2, 3, 4, 5, 6}, .nodes = 6};
    struct cv_clusters clusters;
    assert_int_equal(cv_graph_parse(&group.graph, "1 2\n4 5\n5 6", group.ids, 6, "graph", &complaint), 0);
    grow(&group, &clusters, 1);
    assert_int_equal(clusters.count, 3);
    assert_int_equal(clusters.preferred_edges, 0);
    cv_clusters_free(&clusters);
    cv_graph_free(&group.graph);
}

/* Worked out by hand: the nodes that a layer adds, and the layer that adds too few. */
static void balls_of_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        uint32_t nodes, k, count, pairs, height;
    } cases[] = {
        {"line", 8, 2, 4, 3, 1},     /* 1 + 1, but not + 1: pairs */
        {"line", 9, 2, 5, 4, 1},     /* and one that is left */
        {"ring", 9, 2, 4, 4, 1},     /* 1 + 2, but not + 2; then pairs */
        {"ring", 9, 3, 7, 7, 1},     /* 1 + 2; then one by one */
        {"star", 9, 9, 1, 0, 1},     /* 1 + 8 is nine times as many */
        {"star", 9, 10, 9, 8, 0},    /* but not ten times */
        {"complete", 7, 7, 1, 0, 1}, /* the same without a middle */
        {"complete", 7, 8, 7, 21, 0},
        {"tree", 15, 3, 5, 4, 1}, /* the root and its two; so each of the four below them */
        {"tree", 15, 2, 1, 0, 3}, /* 1 + 2 + 4 + 8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct group group;
        struct cv_clusters clusters;
        make_group(&group, cases[i].shape, cases[i].nodes, 1);
        grow(&group, &clusters, cases[i].k);
        if (clusters.count != cases[i].count || clusters.preferred_edges != cases[i].pairs ||
            clusters.height != cases[i].height)
            fail_msg("%s of %u, k = %u: %u clusters, %llu pairs, height %u", cases[i].shape, cases[i].nodes, cases[i].k,
                     clusters.count, (unsigned long long)clusters.preferred_edges, clusters.height);
        cv_clusters_free(&clusters);
        cv_graph_free(&group.graph);
    }
}

/* ---- files ---- */

/* Parses them for a line of six nodes with the ids 1 to 6; the complaint, or "". */
static struct cv_complaint parse(struct group *group, struct cv_clusters *clusters, const char *text)
{
    struct cv_complaint complaint = {""};
    struct cv_index index;
    make_group(group, "line", 6, 1);
    for (cv_node node = 0; node < 6; node++)
        group->ids[node] = node + 1;
    assert_int_equal(cv_index_make(&index, group->ids, 6), 0);
    const int error =
        cv_clusters_parse(clusters, text, &group->graph, group->ids, &index, "--set clusters=FILE", &complaint);
    assert_int_equal(error, complaint.text[0] ? CV_EINPUT : 0);
    cv_index_free(&index);
    return complaint;
}

static void a_file_says_who_is_together(void **state)
{
    (void)state;
    struct group group;
    struct cv_clusters clusters;
    const char *text = "# two of them\n2 1 3 # the head comes first\n\n  6\t5 4";
    const cv_node parents[] = {1, 1, 1, 4, 5, 5};
    assert_string_equal(parse(&group, &clusters, text).text, "");
    expect_good(&group, &clusters);
    assert_memory_equal(clusters.parents, parents, sizeof parents);
    assert_int_equal(clusters.count, 2);
    assert_int_equal(clusters.preferred_edges, 1);
    assert_int_equal(clusters.height, 2);
    assert_true(is_preferred(&group.graph, &clusters, 2, 3));
    cv_clusters_free(&clusters);
    cv_graph_free(&group.graph);
}

static void files_that_are_no_partition_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", ": id 1 is in no cluster"},
        {"1 2 3\n4 5", ": id 6 is in no cluster"},
        {"1 2 3\n4 5 3 6", ":2: id 3 is in a cluster already"},
        {"1 2 2", ":1: id 2 is in a cluster already"},
        {"1 2 7", ":1: id 7 is not in the group"},
        {"1 2\n# and\n3 x", ":3: id 'x' is not a number from 0 to 4294967295"},
        {"1 2 4\n3 5 6", ":1: the cluster of 1 is not connected inside; expected a way from the head to each of its "
                         "nodes over its nodes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct group group;
        struct cv_clusters clusters;
        const struct cv_complaint complaint = parse(&group, &clusters, cases[i].text);
        assert_true(strncmp(complaint.text, "--set clusters=FILE", 19) == 0);
        assert_string_equal(complaint.text + 19, cases[i].complaint);
        assert_null(clusters.parents);
        cv_graph_free(&group.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_of_random_graphs_are_as_promised),
        cmocka_unit_test(large_graphs_keep_the_bounds),
        cmocka_unit_test(one_is_a_cluster_for_all_and_many_are_clusters_of_one),
        cmocka_unit_test(every_component_is_a_cluster_at_least),
        cmocka_unit_test(balls_of_shapes),
        cmocka_unit_test(a_file_says_who_is_together),
        cmocka_unit_test(files_that_are_no_partition_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
