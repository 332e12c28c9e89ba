// SPDX-License-Identifier: MIT
/*
 * A random scenario of mutual exclusion, told twice: as plain facts for the checks, and in the words of the command
 * line, so that a failure can be repeated by hand.
 */
#ifndef CONCLAVE_TESTS_MUTEXES_STORY_H
#define CONCLAVE_TESTS_MUTEXES_STORY_H

#include <stdio.h>

#include "core/random.h"
#include "stories.h"

#define MOST_NODES 25u
#define MOST_NAMES 3u

struct story {
    const struct cv_algorithm *algorithm, *election;
    const char *name; /* of the algorithm, as the command line knows it */
    struct cv_random random;
    uint64_t seed;

    uint32_t nodes;
    uint32_t id[MOST_NODES];
    uint32_t coordinator; /* where the algorithm has one: the highest id */

    /* Requests are listed, or made in a closed loop if there are none. */
    struct words request;
    uint64_t entries, hold, think, names;

    const char *delay, *loss, *duplicate; /* NULL: left out */
    uint64_t longest_delay;               /* what one message takes at most, roughly */
    bool unit;                            /* every message takes one tick */
    bool reorder;
    bool unordered; /* messages overtake each other, and no channel puts them in order */
    const char *views;
    struct words set, crash, recover;
    char detect[8], until[16];

    /* The same in words. */
    char ids[512], entries_text[16], hold_text[16], think_text[16], names_text[16];
};

void story_begin(struct story *story, const struct cv_algorithm *algorithm, const struct cv_algorithm *election,
                 const char *name, uint64_t seed);

/* At least `least` nodes, at most `most`. */
void story_draw_group(struct story *story, uint32_t least, uint32_t most);

void story_unit_network(struct story *story);
void story_bounded_network(struct story *story);
/* Anything the command line offers. */
void story_odd_network(struct story *story);

/* One more request. */
void story_request(struct story *story, uint32_t node, uint64_t time, uint64_t hold, uint32_t section);
/* A closed loop of entries for every node, or random requests that contend with each other. */
void story_draw_contention(struct story *story);
void story_draw_crashes(struct story *story);

void story_crash(struct story *story, uint32_t node, uint64_t time);
void story_recover(struct story *story, uint32_t node, uint64_t time);
/* Before or after it first sends a message of that kind. */
void story_crash_sending(struct story *story, uint32_t node, const char *moment, const char *kind);
void story_set(struct story *story, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One of 0..ways-1. */
uint32_t story_draw(struct story *story, uint32_t ways);

/* Free the plan with cv_plan_free(); the texts live as long as the story. */
int story_plan(struct story *story, struct cv_plan *plan);
void story_print(FILE *out, const struct story *story);

#endif
