// SPDX-License-Identifier: MIT
/*
 * Clusters: the nodes of a graph in connected groups, each with a tree around its head. Any two neighbouring clusters
 * agree on one edge between them, the preferred edge.
 */
#ifndef CONCLAVE_CORE_SCENARIO_CLUSTER_H
#define CONCLAVE_CORE_SCENARIO_CLUSTER_H

#include "core/graph/graph.h"
#include "core/index.h"

struct cv_clusters {
    cv_node *parents;         /* the next node towards the head; a head is its own parent */
    unsigned char *preferred; /* by entry of the graph's neighbours[]: it is a preferred edge */
    uint64_t preferred_edges; /* preferred edges: one for each pair of neighbouring clusters */
    uint32_t count;
    uint32_t height; /* of the tallest tree */
};

/*
 * Grows balls (B. Awerbuch, 1985): around the first node that is in no cluster yet, layer by layer, as long as the next
 * layer has at least (k − 1) times as many nodes as the ball. So there are at most (k − 1)n preferred edges, and no
 * tree is taller than log_k n. k is at least 1, which makes every component one cluster. 0 or CV_ENOMEM.
 */
int cv_clusters_grow(struct cv_clusters *clusters, const struct cv_graph *graph, const cv_id *ids, uint64_t k);

/*
 * Reads lines `head id id ...`, a cluster each; # begins a comment. Complains by name and line unless every node is in
 * exactly one cluster and every cluster is connected.
 */
int cv_clusters_parse(struct cv_clusters *clusters, const char *text, const struct cv_graph *graph, const cv_id *ids,
                      const struct cv_index *index, const char *name, struct cv_complaint *complaint);

void cv_clusters_free(struct cv_clusters *clusters);

#endif
