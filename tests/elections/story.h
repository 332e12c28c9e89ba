// SPDX-License-Identifier: MIT
/*
 * A random scenario, told twice: as plain facts for the naive models of the tests, and in the words of the command
 * line, so that a failure can be repeated by hand.
 */
#ifndef CONCLAVE_TESTS_STORY_H
#define CONCLAVE_TESTS_STORY_H

#include <stdio.h>

#include "core/random.h"
#include "stories.h"

#define MOST_NODES 40u

/* From `begin` to `end` (UINT64_MAX: for ever) the nodes of `inside` are cut off from the others. */
struct cut {
    bool inside[MOST_NODES];
    uint64_t begin, end;
};

struct story {
    const struct cv_algorithm *algorithm;
    const char *name; /* as the command line knows it */
    struct cv_random random;
    uint64_t seed;

    uint32_t nodes;
    uint32_t id[MOST_NODES], attribute[MOST_NODES];
    bool with_attributes;
    bool dead[MOST_NODES];  /* from the start */
    bool calls[MOST_NODES]; /* if alive */
    bool all_call;
    bool edge[MOST_NODES][MOST_NODES]; /* for algorithms on graphs */

    const char *delay, *loss, *duplicate; /* NULL: left out */
    uint64_t longest_delay;               /* what one message takes at most, roughly */
    bool reorder;
    struct words set, crash, recover;
    struct cut cut;
    bool has_cut;
    char detect[8];

    /* The same in words. */
    char ids[512], attributes[512], start[512], graph[20000], graph_lines[20000], partition[512];
};

/* The group: its nodes, the dead ones, the callers. `deaths`: some may be dead from the start. */
void story_begin(struct story *story, const struct cv_algorithm *algorithm, const char *name, uint64_t seed);
void story_draw_group(struct story *story, bool deaths);
void story_draw_graph(struct story *story);

/* Every message takes one tick; or a bounded random time; or anything the command line offers. */
void story_unit_network(struct story *story);
void story_bounded_network(struct story *story);
void story_odd_network(struct story *story);

/* Crashes and recoveries while it runs. */
void story_draw_crashes(struct story *story);
void story_draw_cut(struct story *story);

void story_set(struct story *story, const char *word);
bool story_has(const struct story *story, const char *word);

/* One of 0..ways-1. */
uint32_t story_draw(struct story *story, uint32_t ways);

/* Free the plan with cv_plan_free(); the texts live as long as the story. */
int story_plan(struct story *story, struct cv_plan *plan);
void story_print(FILE *out, const struct story *story);

#endif
