// SPDX-License-Identifier: MIT
/* What an entry costs: messages, the delay before it when nobody contends, the delay after the one before. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/compare.h"
#include "core/formula.h"

#define ENTRIES 3

/*
 * The texts' costs of an entry and its exit. Variables: n nodes; K the size of a voting set, its owner included; m the
 * votes it takes; k the attempts an entry took; r how often each node enters. What a node tells itself is no message.
 */
static const struct cost {
    const char *algorithm;
    const char *alone, *contended; /* messages when one asks, when all do */
    const char *delay, *synchronization;
    bool bound; /* `contended` is an upper bound */
} costs[] = {
    {"central", "3", "3(n − 1)/n", "2", "2", false},
    {"central-deny", "3", "4(n − 1)/n", "2", "2", false},
    {"token-ring", "n − 1", "(rn − 1)/(rn)", "n − 1", "1", false},
    {"ricart-agrawala", "2(n − 1)", "2(n − 1)", "2", "1", false},
    {"lamport", "3(n − 1)", "3(n − 1)", "2", "1", false},
    {"maekawa-plain", "3(K − 1)", "3(K − 1)", "2", "2", false},
    {"maekawa", "3(K − 1)", "7(K − 1)", "2", "2", true},
    {"voting", "3(m − 1)", "3(m − 1)k", "2", NULL, false},
};

static const struct cv_section sections[] = {
    {"Messages for an entry and its exit, one node asks", "messages", "one", .drawn = true},
    {"Messages for an entry and its exit, all ask, three times each", "messages", "all", .drawn = true},
    {"Delay before an entry that nobody contends for, in message times", "delay", "one", .drawn = false},
    {"Synchronization delay, all ask: from an exit to the next entry, the longest", "synchronization", "all",
     .drawn = false},
    {0},
};

static const char *const notes[] = {
    "n nodes, r = 3 entries each; K the size of a voting set, its owner included (grid: about 2√n − 1);",
    "m votes of more than half, k attempts an entry (as measured). The texts' 3mk and 3K count a node's",
    "messages to itself, too. The coordinator's own entries cost nothing. The token is asked for by the",
    "node farthest from it; when everybody wants it, it saves the pass after the last exit.",
    NULL,
};

/* ---- formulas ---- */

struct facts {
    const struct cv_run *run;
    uint64_t served;
};

static double mean_votes(const struct facts *facts)
{
    const uint64_t *starts = facts->run->scenario->group.quorums;
    double sum = 0;
    for (uint64_t i = 0; starts && i < facts->run->entry_count; i++) {
        const cv_node node = facts->run->entries[i].node;
        sum += (double)(starts[node + 1] - starts[node]);
    }
    return facts->run->entry_count ? sum / (double)facts->run->entry_count : 0;
}

static bool look_up(void *context, const char *name, size_t length, double *value)
{
    const struct facts *facts = context;
    const uint32_t nodes = facts->run->scenario->group.nodes, majority = nodes / 2 + 1;
    if (length != 1)
        return false;
    switch (*name) {
    case 'n':
        *value = nodes;
        return true;
    case 'r':
        *value = ENTRIES;
        return true;
    case 'm':
        *value = majority;
        return true;
    case 'k': /* requests come first in voting's table of kinds */
        *value = (double)facts->run->count[0] / (majority - 1.0) / (double)(facts->served ? facts->served : 1);
        return true;
    case 'K':
        *value = mean_votes(facts);
        return true;
    default:
        return false;
    }
}

/* ---- measuring ---- */

static uint64_t count_served(const struct cv_run *run)
{
    uint64_t served = 0;
    for (uint64_t i = 0; i < run->entry_count; i++)
        served += run->entries[i].left != CV_NEVER;
    return served;
}

static int by_entry(const void *left, const void *right)
{
    const struct cv_entry *one = left, *other = right;
    return (one->entered > other->entered) - (one->entered < other->entered);
}

/* The longest time from an exit to the next entry, if that was asked for by then. */
static int longest_handover(const struct cv_run *run, double *longest)
{
    const size_t bytes = run->entry_count * sizeof *run->entries;
    struct cv_entry *entries = malloc(bytes + 1);
    if (!entries)
        return CV_ENOMEM;
    memcpy(entries, run->entries, bytes);
    qsort(entries, run->entry_count, sizeof *entries, by_entry);
    *longest = 0;
    for (uint64_t i = 1; i < run->entry_count; i++) {
        const double gap = (double)(entries[i].entered - entries[i - 1].left);
        if (entries[i].requested <= entries[i - 1].left && gap > *longest)
            *longest = gap;
    }
    free(entries);
    return 0;
}

/* Fills in a row; `measured` counts only if every request was served. */
static int put_row(struct cv_comparison *comparison, const struct compare_play *play, const char *quantity,
                   const char *formula, bool bound, double measured, struct cv_complaint *complaint)
{
    struct facts facts = {&play->result.run, count_served(&play->result.run)};
    const struct cv_formula_names names = {look_up, &facts};
    struct cv_measurement *row = compare_add_row(comparison);
    if (!row)
        return CV_ENOMEM;
    row->algorithm = play->request.plan.algorithm->name;
    row->load = play->request.plan.request.count ? "one" : "all";
    row->quantity = quantity;
    row->nodes = play->result.scenario.group.nodes;
    row->known = facts.served && facts.served == facts.run->entry_count;
    row->measured = row->known ? measured : 0;
    row->exact = !bound;
    row->formula = formula;
    row->command = sim_command(&play->request, play->request.plan.seed);
    const int error = formula ? cv_formula_evaluate(formula, &names, &row->expected, complaint) : 0;
    row->holds = formula && compare_agrees(row);
    return error ? error : row->command ? 0 : CV_ENOMEM;
}

/* One node asks: 1, but for the token ring, where 1 has the token already and the last one is farthest from it. */
static int measure_alone(struct cv_comparison *comparison, const struct cost *cost, uint32_t nodes,
                         struct cv_complaint *complaint)
{
    char line[160];
    struct compare_play play;
    const bool ring = cv_algorithm_find(cost->algorithm)->topology == CV_RING;
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --request %" PRIu32 "@0 --seed %" PRIu64, cost->algorithm, nodes,
             ring ? nodes : 1, comparison->seed);
    int error = compare_play(&play, line, complaint);
    if (!error)
        error = put_row(comparison, &play, "messages", cost->alone, false, (double)play.result.run.total, complaint);
    if (!error) {
        const struct cv_entry *entry = &play.result.run.entries[0];
        error = put_row(comparison, &play, "delay", cost->delay, false, (double)(entry->entered - entry->requested),
                        complaint);
    }
    compare_play_free(&play);
    return error;
}

static int measure_contended(struct cv_comparison *comparison, const struct cost *cost, uint32_t nodes,
                             struct cv_complaint *complaint)
{
    char line[160];
    struct compare_play play;
    double longest = 0;
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --entries %d --seed %" PRIu64, cost->algorithm, nodes, ENTRIES,
             comparison->seed);
    int error = compare_play(&play, line, complaint);
    const struct cv_run *run = &play.result.run;
    if (!error)
        error = put_row(comparison, &play, "messages", cost->contended, cost->bound,
                        (double)run->total / (double)(run->entry_count ? run->entry_count : 1), complaint);
    if (!error)
        error = longest_handover(run, &longest);
    if (!error)
        error = put_row(comparison, &play, "synchronization", cost->synchronization, false, longest, complaint);
    compare_play_free(&play);
    return error;
}

int compare_mutex(struct cv_comparison *comparison, struct cv_complaint *complaint)
{
    int error = 0;
    comparison->title = "Mutual exclusion, measured in the simulator beside the formulas of the texts";
    comparison->sections = sections;
    comparison->notes = notes;
    for (size_t which = 0; which < sizeof costs / sizeof *costs; which++)
        for (uint32_t i = 0; comparison->sizes[i] && !error; i++) {
            error = measure_alone(comparison, &costs[which], comparison->sizes[i], complaint);
            if (!error)
                error = measure_contended(comparison, &costs[which], comparison->sizes[i], complaint);
        }
    return error ? error : compare_problems(comparison, complaint);
}
