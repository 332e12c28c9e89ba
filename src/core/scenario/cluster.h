// SPDX-License-Identifier: MIT
/*
 * Clusters: the nodes of a graph in connected groups, each with a tree around its head; and between any two
 * neighbouring clusters one edge that they agree on.
 */
#ifndef CONCLAVE_CORE_SCENARIO_CLUSTER_H
#define CONCLAVE_CORE_SCENARIO_CLUSTER_H

#include "core/graph/graph.h"
#include "core/index.h"

struct cv_clusters {
    cv_node *parents;         /* the next node towards the head; a head is its own parent */
    unsigned char *preferred; /* of the graph's neighbours[]: do two clusters talk over this edge? */
    uint64_t preferred_edges; /* how many there are: a pair of neighbouring clusters each */
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
 * Reads lines `head id id ...`, a cluster each; # begins a comment. Complains by name and line unless everybody is in
 * one cluster, and every cluster is connected inside.
 */
int cv_clusters_parse(struct cv_clusters *clusters, const char *text, const struct cv_graph *graph, const cv_id *ids,
                      const struct cv_index *index, const char *name, struct cv_complaint *complaint);

void cv_clusters_free(struct cv_clusters *clusters);

#endif
