// SPDX-License-Identifier: MIT
/*
 * A scenario as people write it: options by name, in words. cv_plan_build() makes it a scenario, or refuses it in one
 * clear line.
 */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_H
#define CONCLAVE_CORE_SCENARIO_PLAN_H

#include "core/error.h"
#include "core/graph/graph_geometric.h"
#include "core/scenario/scenario.h"

/* The values of an option that may be given several times. */
struct cv_words {
    const char **word;
    uint32_t count;
};

/*
 * The faults of a run: the option, the list of the scenario that it fills and its count, the option's argument and its
 * meaning. read_NAME() in plan_faults.c reads one, after those before it in this list. Options and help are made from
 * it.
 */
#define CV_FAULTS(X)                                                                                                   \
    X(crash, crashes, crash_count, "ID@T",                                                                             \
      "the node dies at time T; @0: it is dead from the start, and no node is told; @before:KIND, "                    \
      "@after:KIND: when it first sends such a message")                                                               \
    X(recover, recoveries, recovery_count, "ID@T", "the node comes back with a fresh state")                           \
    X(partition, partitions, partition_count, "A,B/C,D@T1..T2", "cuts the network; messages across are lost")          \
    X(alternate, alternates, alternate_count, "P:Q",                                                                   \
      "a second link that no partition cuts; messages are relayed over it")                                            \
    X(suspect, suspicions, suspicion_count, "P:Q@T", "P falsely suspects Q; * for every node")                         \
    X(blind, blindness, blind_count, "P:Q", "P never learns that Q died; * for every node")

/* An option that is not given is NULL. The texts belong to the caller. */
struct cv_plan {
    const struct cv_algorithm *algorithm;
    const char *nodes, *ids, *attributes, *labels, *start, *delay, *loss, *duplicate, *detect, *until, *graph;
    const char *graph_text; /* the content of the file `graph`; NULL if `graph` names a shape */
    const char *entries, *hold, *think, *names, *views;
    const char *quorums_text;  /* the content of the file of --set quorums=FILE */
    const char *clusters_text; /* the content of the file of --set clusters=FILE */
    const struct cv_algorithm *election;
    const struct cv_algorithm *app; /* the algorithm that a synchronizer hosts */
    struct cv_words request;
    struct cv_words set;
    struct cv_words lag;
#define CV_FAULT(name, list, list_count, argument, meaning) struct cv_words name;
    CV_FAULTS(CV_FAULT)
#undef CV_FAULT
    uint64_t seed;
    bool reorder, unordered, serial;
    bool alone; /* the user named the app alone: the synchronizer is the synchronous network */
};

int cv_words_add(struct cv_words *words, const char *word);

/* Frees the lists of words. */
void cv_plan_free(struct cv_plan *plan);

/* 0, CV_ENOMEM, or CV_EINPUT and what is wrong. Free the scenario in any case. */
int cv_plan_build(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint);

/* Where the nodes of a geometric graph lie. To be freed; NULL: the graph is of another kind, or memory is out. */
struct cv_point *cv_plan_points(const struct cv_plan *plan, uint32_t nodes);

/* The value of `--set KEY=`, or NULL. */
const char *cv_plan_setting(const struct cv_plan *plan, const char *key);

#endif
