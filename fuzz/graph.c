// SPDX-License-Identifier: MIT
/* Files of graphs, and of clusters and voting sets over them. */
#include "core/graph/graph_parse.h"
#include "core/quorum.h"
#include "core/scenario/cluster.h"
#include "fuzz/file.h"

#define MOST_NODES 64u

static void check_graph(const struct cv_graph *graph)
{
    assert(graph->edges[0] == 0);
    for (cv_node node = 0; node < graph->nodes; node++)
        for (uint64_t edge = graph->edges[node]; edge < graph->edges[node + 1]; edge++)
            assert(graph->neighbours[edge] < graph->nodes && graph->neighbours[edge] != node);
}

/* The first text is a graph; what follows a NUL is a file of clusters and one of voting sets over its nodes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_complaint complaint = {{0}};
    struct cv_graph graph = {0};
    struct cv_index index = {0};
    cv_id *ids = NULL;
    uint32_t nodes = 0;
    char *text = fuzz_string(data, size);
    const size_t first = strlen(text);
    const char *second = first < size ? text + first + 1 : "";
    int error = cv_graph_ids(text, "graph", &ids, &nodes, &complaint);
    fuzz_check_complaint(error, complaint.text);
    if (!error && nodes <= MOST_NODES && cv_index_make(&index, ids, nodes) == 0) {
        error = cv_graph_parse(&graph, text, ids, nodes, "graph", &complaint);
        fuzz_check_complaint(error, complaint.text);
        if (!error) {
            struct cv_clusters clusters = {0};
            check_graph(&graph);
            error = cv_clusters_parse(&clusters, second, &graph, ids, &index, "clusters", &complaint);
            fuzz_check_complaint(error, complaint.text);
            if (!error)
                for (cv_node node = 0; node < nodes; node++)
                    assert(clusters.parents[node] < nodes);
            cv_clusters_free(&clusters);
        }
        struct cv_quorums quorums = {0};
        error = cv_quorums_parse(&quorums, second, &index, nodes, ids, "quorums", &complaint);
        fuzz_check_complaint(error, complaint.text);
        if (!error)
            for (uint64_t i = 0; i < quorums.starts[nodes]; i++)
                assert(quorums.voters[i] < nodes);
        cv_quorums_free(&quorums);
        cv_graph_free(&graph);
    }
    cv_index_free(&index);
    free(ids);
    free(text);
    return 0;
}
