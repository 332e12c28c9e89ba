// SPDX-License-Identifier: MIT
/*
 * The texts' model of synchronous algorithms and of the synchronizers that host them, computed naively from the facts
 * of a story: which node sends in which round, the results of all nodes, the number of messages and the time.
 */
#ifndef CONCLAVE_TESTS_SYNCHRONIZERS_MODEL_H
#define CONCLAVE_TESTS_SYNCHRONIZERS_MODEL_H

#include "property/run.h"
#include "story.h"

enum app { BELLMAN_FORD, FLOOD_MAX, BFS_TREE, NO_APP };
enum synchronizer { LOCKSTEP, ABD, ALPHA, BETA, GAMMA, NO_SYNCHRONIZER };

#define UNKNOWN UINT64_MAX

/* An app on a synchronous network. */
struct course {
    uint32_t sends[MOST_ROUNDS + 2][MOST_NODES]; /* messages of a node in a round */
    uint64_t messages;                           /* of all in all rounds */
    uint64_t result[MOST_NODES];                 /* a distance, the place of a leader; or UNKNOWN */
    bool right;                                  /* there were rounds enough for what the app claims */
};

enum app model_find_app(const char *name);
enum synchronizer model_find(const char *name);

void model_course(enum app app, const struct story *story, struct course *course);

/* The distances from the source by Floyd and Warshall; edges count as one where `hops`. */
void model_distances(const struct story *story, bool hops, uint64_t distance[MOST_NODES]);

/* NULL, or the expected messages of each kind. Every round is over. */
const char *model_messages(enum synchronizer which, const struct story *story, const struct course *course,
                           const struct cv_run *run);

/* When the last message arrives if each takes one tick. */
uint64_t model_time(enum synchronizer which, const struct story *story, const struct course *course);

#endif
