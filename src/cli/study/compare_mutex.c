// SPDX-License-Identifier: MIT
/* Measures an entry: messages, the delay without contention, and the delay after the previous exit. */
#include "cli/study/compare_mutex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/study/compare_play.h"
#include "cli/study/compare_problems.h"
#include "core/formula/formula.h"

#define ENTRIES 3

/* A formula, its source, and what a text has instead. */
struct claim {
    const char *formula;
    uint32_t source; /* enum cv_source */
    const char *remark;
};

#define ONE_BY_ONE ": it counts messages one after another, here they travel at once"

/*
 * The cost of an entry and its exit. Variables: n nodes; K the size of a voting set, its owner included; m the votes
 * that an entry needs; k the attempts that it took; r the entries of each node. A message to oneself does not count.
 */
static const struct cost {
    const char *algorithm, *page;
    struct claim alone;     /* messages when one node asks */
    struct claim contended; /* messages when all ask */
    struct claim delay, synchronization;
    bool bound; /* `contended` is an upper bound */
} costs[] = {
    {"central",
     "docs/mutex/central.md",
     {"3", CV_TEXT, NULL},
     {"3(n − 1)/n", CV_DERIVED,
      "the texts' tables have 3: they count no entry of the coordinator, which costs nothing"},
     {"2", CV_TEXT, NULL},
     {"2", CV_DERIVED, "CS425 has O(1)"},
     false},
    {"central-deny",
     "docs/mutex/central-deny.md",
     {"3", CV_TEXT, NULL},
     {"4(n − 1)/n", CV_DERIVED, "the texts' tables have 3: they count no denial"},
     {"2", CV_TEXT, NULL},
     {"2", CV_DERIVED, NULL},
     false},
    {"token-ring",
     "docs/mutex/token-ring.md",
     {"n − 1", CV_DERIVED,
      "the texts' tables have 1 to ∞: ∞ if no node wants the token; this is the farthest node, once"},
     {"(rn − 1)/(rn)", CV_DERIVED,
      "the texts' tables have 1 to ∞: 1 if every node always wants it; the last exit saves one"},
     {"n − 1", CV_TEXT, "the texts' tables have 0 to n − 1: this is the far end, and 0 that of the node that has it"},
     {"1", CV_DERIVED, "CS425 has O(n): that is if only one far away wants it"},
     false},
    {"ricart-agrawala",
     "docs/mutex/ricart-agrawala.md",
     {"2(n − 1)", CV_TEXT, NULL},
     {"2(n − 1)", CV_TEXT, NULL},
     {"2", CV_DERIVED, "the texts' tables have 2(n − 1)" ONE_BY_ONE},
     {"1", CV_DERIVED, "CS425 has O(1)"},
     false},
    {"lamport",
     "docs/mutex/lamport.md",
     {"3(n − 1)", CV_DERIVED, NULL},
     {"3(n − 1)", CV_DERIVED, NULL},
     {"2", CV_DERIVED, NULL},
     {"1", CV_DERIVED, NULL},
     false},
    {"maekawa-plain",
     "docs/mutex/maekawa-plain.md",
     {"3(K − 1)", CV_DERIVED, "CS425 has O(√n)"},
     {"3(K − 1)", CV_DERIVED, "CS425 has O(√n)"},
     {"2", CV_DERIVED, "CS425 has O(1)"},
     {"2", CV_DERIVED, "CS425 has O(1)"},
     false},
    {"maekawa",
     "docs/mutex/maekawa.md",
     {"3(K − 1)", CV_DERIVED, "CS425 has O(√n)"},
     {"7(K − 1)", CV_DERIVED, "CS425 has O(√n)"},
     {"2", CV_DERIVED, "CS425 has O(1)"},
     {"2", CV_DERIVED, "CS425 has O(1)"},
     true},
    {"voting",
     "docs/mutex/voting.md",
     {"3(m − 1)", CV_DERIVED, "CS677 has 3mk, here k = 1: it counts the messages of a node to itself"},
     {"3(m − 1)k", CV_DERIVED, "CS677 has 3mk: it counts the messages of a node to itself"},
     {"2", CV_DERIVED, "CS677 has 2m" ONE_BY_ONE},
     {NULL, CV_DERIVED, NULL},
     false},
};

static const struct cv_section sections[] = {
    {"Messages for an entry and its exit, one node asks", "messages", "one", .drawn = true},
    {"Messages for an entry and its exit, all ask, three times each", "messages", "all", .drawn = true},
    {"Delay before an entry without contention, in message times", "delay", "one", .drawn = false},
    {"The token ring's other ends: delay before an entry of the node that has the token", "delay", "here",
     .drawn = false},
    {"and messages for an entry in the tenth round of a token that no other node wants", "idle", "one", .drawn = false},
    {"Synchronization delay, all ask: from an exit to the next entry, the longest", "synchronization", "all",
     .drawn = false},
    {0},
};

static const char *const notes[] = {
    "n nodes, r = 3 entries each; K the size of a voting set, its owner included (grid: about 2√n − 1);",
    "m votes of more than half, k attempts an entry (as measured). What a node tells itself is no",
    "message. The texts' tables are those of CS677 and of Tanenbaum's slides; docs/compare.md names all",
    "five texts.",
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

/* The longest time from an exit to the next entry, if that was requested before the exit. */
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

static const struct cost *cost_of(const char *algorithm)
{
    const struct cost *cost = costs;
    while (strcmp(cost->algorithm, algorithm) != 0)
        cost++;
    return cost;
}

/* Fills in a row. `measured` is valid only if every request was served. */
static int put_row(struct cv_comparison *comparison, const struct compare_play *play, const char *quantity,
                   const struct claim *claim, bool bound, double measured, struct cv_complaint *complaint)
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
    row->formula = claim->formula;
    row->source = claim->source;
    row->where = claim->source == CV_TEXT ? "tables of CS677 and Tanenbaum" : cost_of(row->algorithm)->page;
    row->remark = claim->remark;
    row->command = sim_command(&play->request, play->request.plan.seed);
    const int error = row->formula ? cv_formula_evaluate(row->formula, &names, &row->expected, complaint) : 0;
    row->holds = row->formula && compare_agrees(row);
    return error ? error : row->command ? 0 : CV_ENOMEM;
}

/*
 * One node asks: node 1; in the token ring the last node, since node 1 has the token and the last is farthest from it.
 */
static int measure_alone(struct cv_comparison *comparison, const struct compare_task *task,
                         struct cv_complaint *complaint)
{
    const struct cost *cost = task->subject;
    const uint32_t nodes = task->nodes;
    char line[160];
    struct compare_play play;
    const bool ring = cv_algorithm_find(cost->algorithm)->topology == CV_RING;
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --request %" PRIu32 "@0 --seed %" PRIu64, cost->algorithm, nodes,
             ring ? nodes : 1, comparison->seed);
    int error = compare_play(comparison, &play, line, complaint);
    if (!error)
        error = put_row(comparison, &play, "messages", &cost->alone, false, (double)play.result.run.total, complaint);
    if (!error) {
        const struct cv_entry *entry = &play.result.run.entries[0];
        error = put_row(comparison, &play, "delay", &cost->delay, false, (double)(entry->entered - entry->requested),
                        complaint);
    }
    compare_play_free(&play);
    return error;
}

/* The ends of the texts' ranges "0 to n − 1" and "1 to ∞" that a request of the farthest node does not reach. */
static int measure_ends(struct cv_comparison *comparison, const struct compare_task *task,
                        struct cv_complaint *complaint)
{
    const uint32_t nodes = task->nodes;
    static const struct claim here = {"0", CV_TEXT, "the texts' tables have 0 to n − 1: this is the near end"};
    static const struct claim idle = {
        "10n", CV_DERIVED, "the texts' tables have 1 to ∞: it goes round for nothing as long as no node wants it"};
    for (int end = 0; end < 2; end++) {
        char line[160];
        struct compare_play play;
        snprintf(line, sizeof line, "token-ring -n %" PRIu32 " --request 1@%" PRIu32 " --seed %" PRIu64, nodes,
                 end ? 10 * nodes - 1 : 0, comparison->seed);
        int error = compare_play(comparison, &play, line, complaint);
        const struct cv_run *run = &play.result.run;
        if (!error)
            error = end ? put_row(comparison, &play, "idle", &idle, false, (double)run->total, complaint)
                        : put_row(comparison, &play, "delay", &here, false,
                                  (double)(run->entries[0].entered - run->entries[0].requested), complaint);
        if (!error && !end)
            comparison->rows[comparison->row_count - 1].load = "here";
        compare_play_free(&play);
        if (error)
            return error;
    }
    return 0;
}

static int measure_contended(struct cv_comparison *comparison, const struct compare_task *task,
                             struct cv_complaint *complaint)
{
    const struct cost *cost = task->subject;
    const uint32_t nodes = task->nodes;
    char line[160];
    struct compare_play play;
    double longest = 0;
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --entries %d --seed %" PRIu64, cost->algorithm, nodes, ENTRIES,
             comparison->seed);
    int error = compare_play(comparison, &play, line, complaint);
    const struct cv_run *run = &play.result.run;
    if (!error)
        error = put_row(comparison, &play, "messages", &cost->contended, cost->bound,
                        (double)run->total / (double)(run->entry_count ? run->entry_count : 1), complaint);
    if (!error)
        error = longest_handover(run, &longest);
    if (!error)
        error = put_row(comparison, &play, "synchronization", &cost->synchronization, false, longest, complaint);
    compare_play_free(&play);
    return error;
}

/* ---- the user's own ---- */

/* A table's formula is for all entries of a run. Its row has what one of them costs. */
static int put_own_row(struct cv_comparison *comparison, const struct compare_play *play, const char *quantity,
                       double measured, const struct cv_expectation *expected)
{
    const struct cv_run *run = &play->result.run;
    const uint64_t entries = run->entry_count ? run->entry_count : 1;
    struct cv_measurement *row = compare_add_row(comparison);
    if (!row)
        return CV_ENOMEM;
    row->algorithm = play->request.plan.algorithm->name;
    row->load = play->request.plan.request.count ? "one" : "all";
    row->quantity = quantity;
    row->nodes = play->result.scenario.group.nodes;
    row->known = run->entry_count && count_served(run) == run->entry_count;
    row->measured = row->known ? measured : 0;
    row->command = sim_command(&play->request, play->request.plan.seed);
    if (expected && expected->cost) {
        if (entries > 1 && asprintf(&row->own_formula, "(%s)/e", expected->cost->formula) < 0)
            return CV_ENOMEM;
        row->formula = row->own_formula ? row->own_formula : expected->cost->formula;
        row->remark = "the formula is that of its table; e entries in all";
        row->expected = expected->value / (double)entries;
        row->exact = expected->cost->exact;
        row->source = expected->cost->source;
        row->where = expected->cost->where;
        row->holds = compare_agrees(row);
    }
    return row->command ? 0 : CV_ENOMEM;
}

/* One node asks: on a ring the last one; elsewhere the second, which is likely to have neither token nor office. */
static int measure_own(struct cv_comparison *comparison, const struct compare_task *task,
                       struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = task->subject;
    const uint32_t nodes = task->nodes;
    char line[160];
    struct compare_play play;
    double delay = 0;
    if (task->all)
        snprintf(line, sizeof line, "-n %" PRIu32 " --entries %d --seed %" PRIu64, nodes, ENTRIES, comparison->seed);
    else
        snprintf(line, sizeof line, "-n %" PRIu32 " --request %" PRIu32 "@0 --seed %" PRIu64, nodes,
                 algorithm->topology == CV_RING ? nodes : 2, comparison->seed);
    int error = compare_play_own(comparison, &play, task->path, line, complaint);
    const struct cv_run *run = &play.result.run;
    if (!error)
        error = put_own_row(comparison, &play, "messages", (double)run->total / (double)run->entry_count,
                            &play.result.judgement.messages);
    if (!error && task->all)
        error = longest_handover(run, &delay);
    else if (!error)
        delay = (double)(run->entries[0].entered - run->entries[0].requested);
    if (!error)
        error = put_own_row(comparison, &play, task->all ? "synchronization" : "delay", delay, NULL);
    compare_play_free(&play);
    return error;
}

static int add_own(struct compare_tasks *tasks, const struct cv_comparison *comparison, const struct plugin_list *own)
{
    int error = 0;
    for (uint32_t which = 0; which < own->count; which++)
        for (uint32_t i = 0; comparison->sizes[i]; i++)
            for (int all = 0; all < 2 && !error; all++)
                error =
                    compare_add_task(tasks, &(struct compare_task){measure_own, own->algorithms[which],
                                                                   own->paths[which], comparison->sizes[i], all != 0});
    return error;
}

int compare_mutex(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                  struct cv_complaint *complaint)
{
    int error = plugin_list_check(own, CV_MUTEX, complaint);
    comparison->title = "Mutual exclusion, measured in the simulator beside formulas";
    comparison->sections = sections;
    comparison->notes = notes;
    for (size_t which = 0; which < sizeof costs / sizeof *costs; which++)
        for (uint32_t i = 0; comparison->sizes[i] && !error; i++) {
            struct compare_task task = {measure_alone, &costs[which], NULL, comparison->sizes[i], false};
            error = compare_add_task(tasks, &task);
            task.measure = measure_contended;
            if (!error)
                error = compare_add_task(tasks, &task);
            task.measure = measure_ends;
            if (!error && strcmp(costs[which].algorithm, "token-ring") == 0)
                error = compare_add_task(tasks, &task);
        }
    if (!error)
        error = add_own(tasks, comparison, own);
    return error ? error : compare_problems(tasks);
}
