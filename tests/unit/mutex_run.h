// SPDX-License-Identifier: MIT
/* Runs of mutual exclusion made up by hand, for tests of their judge. */
#ifndef CONCLAVE_TESTS_MUTEX_RUN_H
#define CONCLAVE_TESTS_MUTEX_RUN_H

#include "judged.h"

#define NODES 4u
#define ALL_CLAIMS (CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING | CV_REQUEST_ORDER)
#define NEVER CV_NEVER

/* A run as the judge sees it. Ids 10, 20, 30, 40; all alive; messages take one tick. */
struct made_up {
    struct cv_algorithm algorithm;
    struct cv_scenario scenario;
    cv_id ids[NODES];
    bool dead[NODES];
    struct cv_crash crashes[NODES];
    struct cv_entry entries[16];
    struct cv_run run;
    struct cv_judgement judgement;
};

static inline struct cv_standing stand(const void *runtime, cv_node node)
{
    return (struct cv_standing){.alive = !((const struct made_up *)runtime)->dead[node]};
}

static const struct cv_kind kinds[] = {{"request", 0, NULL, false}, {0}};

/* Adds a request; its clock is the time it was made, its fence the number of entries so far. */
static inline struct cv_entry *ask(struct made_up *it, cv_node node, uint64_t requested, uint64_t entered,
                                   uint64_t left)
{
    struct cv_entry *entry = &it->entries[it->run.entry_count++];
    *entry = (struct cv_entry){.node = node,
                               .requested = requested,
                               .entered = entered,
                               .left = left,
                               .fence = it->run.entry_count,
                               .clock = requested};
    return entry;
}

/* A run without requests. */
static inline void begin(struct made_up *it)
{
    *it = (struct made_up){.algorithm = {.abi = CV_ABI,
                                         .problem = CV_MUTEX,
                                         .name = "made-up",
                                         .topology = CV_COMPLETE,
                                         .claims = ALL_CLAIMS,
                                         .kinds = kinds},
                           .ids = {10, 20, 30, 40}};
    it->scenario.algorithm = &it->algorithm;
    it->scenario.group = (struct cv_group){.ids = it->ids, .nodes = NODES, .bound = 1};
    it->scenario.ids = it->ids;
    it->scenario.names = 1;
    it->scenario.detect = 1;
    it->scenario.delay = (struct cv_delay){CV_DELAY_UNIT, 1, 1};
    it->scenario.crashes = it->crashes;
    it->run = (struct cv_run){.scenario = &it->scenario,
                              .runtime = it,
                              .standing = stand,
                              .ending = CV_QUIET,
                              .now = 100,
                              .entries = it->entries};
}

/* Three nodes request and enter one after the other. */
static inline void make_up(struct made_up *it)
{
    begin(it);
    ask(it, 0, 0, 2, 7);
    ask(it, 1, 1, 7, 12);
    ask(it, 2, 2, 14, 20);
}

static inline enum cv_verdict judge(struct made_up *it)
{
    const enum cv_verdict verdict = judged(&it->run, &it->judgement);
    assert_false(it->judgement.has_leader);
    return verdict;
}

static inline const struct cv_finding *finding(const struct made_up *it, const char *name)
{
    return judged_finding(&it->judgement, name);
}

static inline void expect_violated(struct made_up *it, const char *names)
{
    judge(it);
    judged_violated(&it->judgement, names);
}

static inline void expect_detail(const struct made_up *it, const char *name, enum cv_verdict verdict,
                                 const char *detail)
{
    assert_int_equal(finding(it, name)->verdict, verdict);
    assert_string_equal(finding(it, name)->detail, detail);
}

#endif
