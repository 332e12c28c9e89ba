// SPDX-License-Identifier: MIT
/* The common part of elections, mutexes and synchronizers: random stories, each played and judged by the program. */
#ifndef CONCLAVE_TESTS_STORIES_H
#define CONCLAVE_TESTS_STORIES_H

#include <stdio.h>

#include "core/scenario/plan.h"
#include "property/property.h"
#include "sim/sim.h"

/* ---- the command line: ALGORITHM [./FILE.so] [--stories N] [--seed S] [--failures N] ---- */

struct telling {
    const char *name, *file; /* the algorithm, and the object to take it from instead, or NULL */
    uint64_t count, seed, most_failures;
};

struct telling telling_read(int argc, char **argv, uint64_t usual_count);
/* As the command line of conclave knows it. */
const char *telling_algorithm(const struct telling *telling);

/* ---- words of a command line ---- */

#define MOST_WORDS 64u
#define WORD_BYTES 400u

struct words {
    char word[MOST_WORDS][WORD_BYTES];
    uint32_t count;
};

int words_add_to(struct cv_words *to, const struct words *words);
/* Nothing, if there is no value. */
void words_print_option(FILE *out, const char *option, const char *value);
void words_print(FILE *out, const char *option, const struct words *words);

/* ---- one run ---- */

struct play {
    struct cv_scenario scenario;
    struct cv_sim *sim;
    struct cv_run run;
    struct cv_judgement judgement;
};

/* Frees the plan, whatever comes of it. */
int play_run(struct play *play, struct cv_plan *plan, struct cv_observer observer, struct cv_complaint *complaint);
void play_free(struct play *play);
/* NULL if the judgement has no such finding. */
const struct cv_finding *play_finding(const struct play *play, const char *property);

#endif
