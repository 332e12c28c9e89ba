// SPDX-License-Identifier: MIT
/*
 * A random scenario of a synchronizer and the app it hosts, told twice: as plain facts for the checks, and in the words
 * of the command line, so that a failure can be repeated by hand.
 */
#ifndef CONCLAVE_TESTS_SYNCHRONIZERS_STORY_H
#define CONCLAVE_TESTS_SYNCHRONIZERS_STORY_H

#include <stdio.h>

#include "core/random.h"
#include "stories.h"

#define MOST_NODES 20u
#define MOST_ROUNDS 24u
#define NO_ARC UINT64_MAX

struct story {
    const struct cv_algorithm *algorithm, *app; /* app: NULL if the algorithm works without rounds */
    const char *name, *app_name;                /* as the command line knows them */
    struct cv_random random;
    uint64_t seed;

    uint32_t nodes, edges;
    uint32_t id[MOST_NODES];
    uint32_t attribute[MOST_NODES];          /* the id, where none are given */
    uint64_t weight[MOST_NODES][MOST_NODES]; /* of the way from one to the other; NO_ARC: there is none */
    uint32_t source;                         /* the source of distances, the root of a tree; a place */
    uint64_t rounds;
    bool changed; /* send=changed: a node without news is silent */

    uint32_t root;                /* beta: a place */
    bool together;                /* all start at the same time */
    uint32_t cluster[MOST_NODES]; /* gamma: the head of a node's cluster; a place */

    const char *delay, *loss, *duplicate;   /* NULL: left out */
    uint64_t shortest_delay, longest_delay; /* that a message takes, where there are bounds; otherwise 0 */
    bool unit;                              /* every message takes one tick */
    bool reorder, unordered;
    struct words set;
    char crash[24]; /* a node dies, unless this is empty */

    /* The same in words. */
    char ids[256], attributes[256], graph[8192], graph_text[8192], clusters_text[512];
};

void story_begin(struct story *story, const struct cv_algorithm *algorithm, const char *name, uint64_t seed);
/* One node to `most`, with ids in some order. */
void story_draw_group(struct story *story, uint32_t most);
/* A connected graph, from a line or a star to a complete one, with weights or without. */
void story_draw_graph(struct story *story);
/* The gadget: its edges of weight 0 are slow, unless the network sets delays. */
void story_gadget(struct story *story, uint32_t rungs);
/* Clusters by Awerbuch's growing balls, or any. */
void story_draw_clusters(struct story *story);
/* Some nodes are better than their ids say, some are as good as others. */
void story_draw_attributes(struct story *story);
/* As many rounds as usual, or any number. */
void story_draw_rounds(struct story *story);
void story_host(struct story *story, const struct cv_algorithm *app, const char *name);

void story_unit_network(struct story *story);
void story_bounded_network(struct story *story);
/* Anything the command line offers, but no message is overtaken by a later one. */
void story_odd_network(struct story *story);

void story_set(struct story *story, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One of 0..ways-1. */
uint32_t story_draw(struct story *story, uint32_t ways);

static inline bool story_joined(const struct story *story, uint32_t one, uint32_t other)
{
    return story->weight[one][other] != NO_ARC || story->weight[other][one] != NO_ARC;
}

/* Is the one better than the other: by attribute, then by id? */
static inline bool story_better(const struct story *story, uint32_t one, uint32_t other)
{
    const uint32_t *attribute = story->attribute, *id = story->id;
    return attribute[one] != attribute[other] ? attribute[one] > attribute[other] : id[one] > id[other];
}

uint32_t story_degree(const struct story *story, uint32_t node);
uint32_t story_smallest(const struct story *story);

/* Free the plan with cv_plan_free(); the texts live as long as the story. */
int story_plan(struct story *story, struct cv_plan *plan);
void story_print(FILE *out, const struct story *story);

#endif
