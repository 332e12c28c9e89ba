// SPDX-License-Identifier: MIT
/*
 * The checker against one too simple to be wrong (check/naive.c): without reduction both must count the same states,
 * steps and levels, with one thread and with two, with short fingerprints and long ones. With reduction the verdict
 * must stay the same, every end of a run be kept, and no more states be seen. Both drop or cap clocks after the last
 * request, and both search requests in fixed orders.
 *
 * usage: check [--long | --brief | ALGORITHM]
 */
#include <stdio.h>
#include <string.h>

#include "algorithm/registry.h"
#include "check/check.h"
#include "check/naive.h"
#include "check/order.h"
#include "check/orders.h"
#include "core/scenario/plan.h"
#include "guard/guarded.h"

struct sample {
    const char *algorithm, *nodes, *entries, *graph, *set;
    struct naive_options options;
    bool unordered;
};

#define CALLERS .callers = UINT32_MAX

static const struct sample quick[] = {
    {"bully", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"bully", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1}, false},
    {"bully", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1, .missed = 1, .suspicions = 1}, false},
    {"bully", "3", NULL, NULL, NULL, {.callers = 1}, false},
    {"bully", "3", NULL, NULL, NULL, {.callers = 2, .cuts = 1}, false},
    {"bully", "2", NULL, NULL, NULL, {CALLERS, .crashes = 2, .missed = 1, .recoveries = 2, .suspicions = 1}, false},
    {"bully", "2", NULL, NULL, NULL, {CALLERS, .crashes = 1, .recoveries = 1, .cuts = 2}, false},
    {"multicast", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"multicast-lean", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1}, false},
    {"chang-roberts", "2", NULL, NULL, NULL, {CALLERS, .crashes = 2, .recoveries = 1}, false},
    {"chang-roberts", "3", NULL, NULL, NULL, {.callers = 2, .cuts = 1}, false},
    {"wireless", "2", NULL, "line", NULL, {CALLERS, .crashes = 1, .recoveries = 1}, false},
    {"wireless", "3", NULL, "line", NULL, {.callers = 1, .cuts = 1}, false},
    {"central", "3", NULL, NULL, NULL, {.callers = 3, .crashes = 1, .recoveries = 1, .missed = 1}, false},
    {"central", "3", NULL, NULL, NULL, {CALLERS, .cuts = 1}, true},
    {"central-deny", "3", NULL, NULL, NULL, {.callers = 1, .crashes = 1, .recoveries = 1, .cuts = 1}, false},
    {"token-ring", "2", NULL, NULL, NULL, {CALLERS, .crashes = 2, .recoveries = 2}, false},
    {"ricart-agrawala", "2", NULL, NULL, NULL, {CALLERS, .crashes = 1, .recoveries = 1}, false},
    {"lamport", "2", NULL, NULL, NULL, {.callers = 1, .crashes = 1, .recoveries = 1, .cuts = 1}, false},
    {"chang-roberts", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1}, false},
    {"chang-roberts", "4", NULL, NULL, NULL, {CALLERS, .suspicions = 1}, false},
    {"chang-roberts-token", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"ring-basic", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"ring-list", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"franklin", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"peterson", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"wireless", "3", NULL, "ring", NULL, {CALLERS}, false},
    {"wireless", "3", NULL, "line", NULL, {CALLERS, .crashes = 1}, false},
    {"order-of-arrival", "5", NULL, NULL, NULL, {.callers = 16}, false},
    {"order-of-sending", "5", NULL, NULL, NULL, {.callers = 16}, false},
    {"order-once-armed", "5", NULL, NULL, NULL, {.callers = 16}, false},
    {"central", "3", "2", NULL, NULL, {CALLERS}, false},
    {"central", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"central", "4", NULL, NULL, "coordinator=2", {.callers = 7}, true},
    {"central", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1, .missed = 1, .suspicions = 1}, false},
    {"central", "4", NULL, NULL, NULL, {CALLERS, .inside = true}, false},
    {"central-deny", "3", NULL, NULL, NULL, {CALLERS}, true},
    {"token-ring", "3", "2", NULL, NULL, {CALLERS}, false},
    {"token-ring", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1}, false},
    {"ricart-agrawala", "2", "2", NULL, NULL, {CALLERS}, false},
    {"ricart-agrawala", "2", NULL, NULL, NULL, {CALLERS, .inside = true}, false},
    {"ricart-agrawala", "3", NULL, NULL, "clocks=1:3", {CALLERS}, false},
    {"lamport", "2", NULL, NULL, NULL, {CALLERS}, false},
    {"lamport", "2", NULL, NULL, NULL, {CALLERS}, true},
    {"lamport", "2", "2", NULL, NULL, {CALLERS}, false},
    {"maekawa", "2", NULL, NULL, NULL, {CALLERS, .inside = true}, false},
    {"maekawa-plain", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"maekawa", "3", NULL, NULL, NULL, {.callers = 5}, false},
    {"voting", "2", NULL, NULL, "backoff=1", {CALLERS}, false},
};

/* A synchronizer and its app; and paths. The naive checker compares every end with its own synchronous run. */
static const struct sample hosted[] = {
    {"alpha/bfs-tree", "3", NULL, "line", NULL, {CALLERS}, false},
    {"alpha/bfs-tree", "3", NULL, "ring", NULL, {CALLERS}, true},
    {"alpha/flood-max", "3", NULL, "line", NULL, {CALLERS}, false},
    {"alpha/bellman-ford", "2", NULL, "line", NULL, {CALLERS, .crashes = 1}, false},
    {"beta/bfs-tree", "3", NULL, "ring", NULL, {CALLERS}, false},
    {"beta/bfs-tree", "3", NULL, "line", NULL, {CALLERS}, true},
    {"gamma/bfs-tree", "3", NULL, "ring", NULL, {CALLERS}, true},
    {"gamma/bellman-ford", "3", NULL, "line", NULL, {CALLERS}, false},
    {"abd/bfs-tree", "3", NULL, "line", NULL, {CALLERS}, false},
    {"abd/bfs-tree", "3", NULL, "line", NULL, {CALLERS, .any_time = true}, false},
    {"abd/bfs-tree", "3", NULL, "line", NULL, {CALLERS, .delay = 1}, false},
    {"abd/bfs-tree", "3", NULL, "line", NULL, {CALLERS, .delay = 2}, true},
    {"abd/flood-max", "2", NULL, "line", "bound=3", {CALLERS, .delay = 3}, true},
    {"bully", "3", NULL, NULL, NULL, {CALLERS, .delay = 1}, false},
    {"lockstep/bfs-tree", "3", NULL, "ring", NULL, {CALLERS, .delay = 1}, false},
    {"lockstep/flood-max", "3", NULL, "ring", NULL, {CALLERS}, false},
    {"lockstep/bfs-tree", "2", NULL, "line", NULL, {CALLERS, .any_time = true}, true},
    {"bellman-ford-async", "4", NULL, "ring", NULL, {CALLERS}, false},
    {"bellman-ford-async", "3", NULL, "complete", NULL, {CALLERS}, true},
    {"bellman-ford-async", "5", NULL, "gadget:2", NULL, {CALLERS}, false},
    {"bellman-ford-async", "3", NULL, "ring", NULL, {CALLERS, .cuts = 1}, false},
};

static const struct sample longer[] = {
    {"bully", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"bully", "3", NULL, NULL, NULL, {.callers = 1, .crashes = 1, .recoveries = 1}, false},
    {"chang-roberts", "3", NULL, NULL, NULL, {.callers = 2, .crashes = 1, .recoveries = 1}, false},
    {"central", "3", NULL, NULL, NULL, {CALLERS, .crashes = 2, .recoveries = 1, .missed = 1}, false},
    {"ring-list", "3", NULL, NULL, NULL, {CALLERS, .crashes = 1}, false},
    {"ring-basic", "3", NULL, NULL, NULL, {CALLERS, .crashes = 2, .missed = 1}, false},
    {"wireless", "4", NULL, "line", NULL, {CALLERS, .crashes = 1}, false},
    {"ricart-agrawala", "3", NULL, NULL, NULL, {CALLERS}, true},
    {"lamport", "2", "2", NULL, NULL, {CALLERS}, true},
    {"voting", "2", NULL, NULL, NULL, {CALLERS}, false},
};

/* Too large for the naive checker: the whole search and the reduced one are compared. */
static const struct sample large[] = {
    {"bully", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"multicast", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"multicast-lean", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"chang-roberts", "5", NULL, NULL, NULL, {CALLERS}, false},
    {"ring-list", "4", NULL, NULL, NULL, {CALLERS}, false},
    {"franklin", "5", NULL, NULL, NULL, {CALLERS}, false},
    {"wireless", "4", NULL, "ring", NULL, {CALLERS}, false},
    {"central-deny", "4", "2", NULL, NULL, {CALLERS}, false},
    {"ricart-agrawala", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"lamport", "3", NULL, NULL, NULL, {.callers = 3}, false},
    {"lamport", "2", "3", NULL, NULL, {CALLERS}, false},
    {"maekawa", "3", NULL, NULL, NULL, {CALLERS}, false},
    {"maekawa-plain", "4", NULL, NULL, NULL, {.callers = 7}, false},
};

static unsigned failures;

static void fail(const struct sample *sample, const char *what, unsigned long long expected, unsigned long long got)
{
    failures++;
    printf("FAILED: %s, %s nodes%s%s: %s: expected %llu, got %llu\n", sample->algorithm, sample->nodes,
           sample->options.crashes ? ", crashes" : "", sample->unordered ? ", unordered" : "", what, expected, got);
}

static void expect(const struct sample *sample, const char *what, unsigned long long expected, unsigned long long got)
{
    if (expected != got)
        fail(sample, what, expected, got);
}

static struct cv_check_options options_of(const struct sample *sample)
{
    return (struct cv_check_options){.callers = sample->options.callers,
                                     .inside = sample->options.inside ? 0 : CV_NOBODY,
                                     .crashes = sample->options.crashes,
                                     .missed = sample->options.missed,
                                     .suspicions = sample->options.suspicions,
                                     .recoveries = sample->options.recoveries,
                                     .cuts = sample->options.cuts,
                                     .any_time = sample->options.any_time,
                                     .delay = sample->options.delay,
                                     .threads = 1,
                                     .memory = 4ull << 30};
}

/* With one thread, with two, with long fingerprints and every step taken twice; and depth first, with two threads. */
enum round { PLAIN, THREADS, WIDE, DEEP, ROUNDS };

/* Both count all states: a property without a name is never violated, so no search ends early. */
static void compare_counts(const struct sample *sample, const struct cv_scenario *scenario,
                           const struct naive_result *naive, bool canonical, enum cv_orders orders)
{
    for (enum round round = PLAIN; round < ROUNDS; round++) {
        struct cv_check_options options = options_of(sample);
        struct cv_check_result result;
        options.property = "none";
        options.drop_clocks = options.symmetry = canonical;
        options.orders = orders;
        options.threads = round == THREADS || round == DEEP ? 2 : 1;
        options.wide = round == WIDE;
        options.deep = round == DEEP;
        struct cv_scenario guarded = *scenario;
        guarded.algorithm = cv_guarded(scenario->algorithm);
        if (cv_check_run(round == WIDE ? &guarded : scenario, &options, &result))
            fail(sample, "memory", 0, 1);
        expect(sample, "states", naive->states, result.states);
        expect(sample, "transitions", naive->transitions, result.transitions);
        if (!options.deep || result.depth < naive->depth) /* a state may be reached on a longer path first */
            expect(sample, "depth", naive->depth, result.depth);
        expect(sample, "ends", naive->ends, result.ends);
        expect(sample, "complete", true, result.complete);
        cv_check_free(&result);
    }
}

/* A reduction must keep every end of a run. */
static void compare_ends(const struct sample *sample, const struct cv_scenario *scenario, uint64_t ends,
                         enum cv_orders orders)
{
    for (enum round round = PLAIN; round < ROUNDS; round++) {
        if (round == WIDE)
            continue;
        struct cv_check_options options = options_of(sample);
        struct cv_check_result result;
        options.property = "none";
        options.reduction = true;
        options.orders = orders;
        options.threads = round == PLAIN ? 1 : 2;
        options.deep = round == DEEP;
        if (cv_check_run(scenario, &options, &result))
            fail(sample, "memory", 0, 1);
        expect(sample, "ends with reduction", ends, result.ends);
        cv_check_free(&result);
    }
}

static void compare_verdicts(const struct sample *sample, const struct cv_scenario *scenario,
                             const struct naive_result *naive)
{
    struct cv_check_options options = options_of(sample);
    struct cv_check_result whole, reduced, deep;
    if (cv_check_run(scenario, &options, &whole))
        fail(sample, "memory", 0, 1);
    options.reduction = options.drop_clocks = options.symmetry = true;
    options.orders = CV_STRICT_ORDERS;
    if (cv_check_run(scenario, &options, &reduced))
        fail(sample, "memory", 0, 1);
    options.deep = true;
    if (cv_check_run(scenario, &options, &deep))
        fail(sample, "memory", 0, 1);
    if (naive && (naive->two_inside || naive->stuck || naive->apart || naive->late || naive->wrong))
        expect(sample, "verdict", CV_VIOLATED, whole.judgement.verdict);
    else if (naive && scenario->graph.edges && scenario->algorithm->problem >= CV_SYNCHRONIZER)
        expect(sample, "verdict", CV_HELD, whole.judgement.verdict);
    expect(sample, "verdict with reduction", whole.judgement.verdict, reduced.judgement.verdict);
    expect(sample, "verdict depth first", whole.judgement.verdict, deep.judgement.verdict);
    expect(sample, "confirmed by replay, depth first", deep.trail.count != 0, deep.confirmed);
    expect(sample, "confirmed by replay", whole.trail.count != 0, whole.confirmed);
    expect(sample, "confirmed by replay, with reduction", reduced.trail.count != 0, reduced.confirmed);
    const bool orders = scenario->algorithm->hints.clocked > CV_CLOCKED; /* each order has its own states */
    if (whole.judgement.verdict == CV_HELD && reduced.states > whole.states && !orders)
        fail(sample, "states with reduction", whole.states, reduced.states);
    cv_check_free(&whole);
    cv_check_free(&reduced);
    cv_check_free(&deep);
}

/* Requests in a given order: both count the same in every order, and nothing that clocks allow is missing. */
static void compare_orders(const struct sample *sample, const struct cv_scenario *scenario)
{
    struct naive_result naive;
    for (enum cv_orders orders = CV_STRICT_ORDERS; orders <= CV_ALL_ORDERS; orders++) {
        const bool strict = orders == CV_STRICT_ORDERS && scenario->algorithm->hints.clocked == CV_CLOCKS_ORDER;
        const uint64_t missing = orders_run(scenario, &sample->options, strict, false, &naive);
        expect(sample, "states that no order has", 0, missing);
        compare_counts(sample, scenario, &naive, false, orders);
        compare_ends(sample, scenario, naive.ends, orders);
        orders_run(scenario, &sample->options, strict, scenario->algorithm->hints.alike, &naive);
        compare_counts(sample, scenario, &naive, true, orders);
    }
}

static void compare_with_naive(const struct sample *sample, const struct cv_scenario *scenario)
{
    struct naive_options options = sample->options;
    struct naive_result naive;
    naive_run(scenario, &options, &naive);
    compare_counts(sample, scenario, &naive, false, CV_NO_ORDERS);
    compare_ends(sample, scenario, naive.ends, CV_NO_ORDERS);
    compare_verdicts(sample, scenario, &naive);
    options.drop_clocks = scenario->algorithm->hints.clocked;
    options.symmetry = scenario->algorithm->hints.rename;
    if (options.drop_clocks || options.symmetry) {
        naive_run(scenario, &options, &naive);
        compare_counts(sample, scenario, &naive, true, CV_NO_ORDERS);
    }
    if (scenario->algorithm->hints.clocked > CV_CLOCKED && !options.crashes &&
        !options.cuts) /* with faults, clocks tick */
        compare_orders(sample, scenario);
}

static void compare_with_whole(const struct sample *sample, const struct cv_scenario *scenario)
{
    struct cv_check_options options = options_of(sample);
    struct cv_check_result whole;
    options.property = "none";
    if (cv_check_run(scenario, &options, &whole))
        fail(sample, "memory", 0, 1);
    compare_ends(sample, scenario, whole.ends, CV_NO_ORDERS);
    compare_verdicts(sample, scenario, NULL);
    cv_check_free(&whole);
}

static const struct cv_algorithm *find(const char *name)
{
    static const struct cv_algorithm *const own[] = {&order_of_arrival, &order_of_sending, &order_once_armed};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]->name) == 0)
            return own[i];
    return cv_algorithm_find(name);
}

static void compare(const struct sample *sample, bool naive)
{
    char name[64];
    const char *app = strchr(sample->algorithm, '/');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(sample->algorithm, "/"), sample->algorithm);
    struct cv_plan plan = {.algorithm = find(name),
                           .app = app ? find(app + 1) : NULL,
                           .nodes = sample->nodes,
                           .entries = sample->entries,
                           .graph = sample->graph,
                           .unordered = sample->unordered,
                           .seed = 1};
    struct cv_scenario scenario = {0};
    struct cv_complaint complaint = {{0}};
    if (sample->set)
        cv_words_add(&plan.set, sample->set);
    if (cv_plan_build(&plan, &scenario, &complaint)) {
        failures++;
        printf("FAILED: %s: %s\n", sample->algorithm, complaint.text);
    } else if (naive) {
        compare_with_naive(sample, &scenario);
    } else {
        compare_with_whole(sample, &scenario);
    }
    cv_plan_free(&plan);
    cv_scenario_free(&scenario);
}

/* Compares every `every`-th of these samples; of one algorithm only, if it is given. Returns their number. */
static size_t compare_all(const struct sample *samples, size_t count, size_t every, const char *algorithm, bool naive)
{
    size_t compared = 0;
    for (size_t i = 0; i < count; i += every)
        if (!algorithm || strncmp(samples[i].algorithm, algorithm, strlen(algorithm)) == 0) {
            compare(&samples[i], naive);
            compared++;
        }
    return compared;
}

#define COMPARE(samples, every, algorithm, naive)                                                                      \
    compare_all(samples, sizeof samples / sizeof *samples, every, algorithm, naive)

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "--long") == 0;
    const bool brief = argc > 1 && strcmp(argv[1], "--brief") == 0;
    const char *algorithm = argc > 1 && *argv[1] != '-' ? argv[1] : NULL;
    const size_t every = brief ? 2 : 1;
    size_t compared = all ? COMPARE(longer, 1, NULL, true)
                          : COMPARE(quick, every, algorithm, true) + COMPARE(hosted, every, algorithm, true);
    if (!all && !brief)
        COMPARE(large, 1, algorithm, false);
    printf("%zu samples, %u surprises\n", compared, failures);
    return failures != 0;
}
