// SPDX-License-Identifier: MIT
/* Measures messages and time of an election, when the lowest live node calls and when all call. */
#include "cli/study/compare_election.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/study/compare_play.h"

static const struct cv_section sections[] = {
    {"Messages, the lowest live node calls", "messages", "one", .drawn = true},
    {"Messages, all live nodes call", "messages", "all", .drawn = true},
    {"Time till the last message arrives, the lowest live node calls, in message times", "time", "one", .drawn = false},
    {"Time till the last message arrives, all live nodes call, in message times", "time", "all", .drawn = false},
    {0},
};

static const char *const notes[] = {
    "n nodes with ids in random order, the best of them dead from the start, so a = n − 1 alive;",
    "wireless: all alive, on a random graph of E = 2n edges. k callers; δ steps from the caller to the",
    "best; Σ over the callers, steps to the next better one; ρ Franklin's rounds, f Peterson's phases;",
    "ecc the caller's eccentricity, w 2 if a node that far out has another neighbour.",
    NULL,
};

/*
 * The formulas of the properties hold for all parameters. Here the parameters have their defaults, there are at least
 * three nodes, and the lowest calls, so simpler formulas are enough.
 */
static const struct {
    const char *algorithm, *general, *simple;
} simpler[] = {
    {"bully", "q² + n − 2 + announce", "n² − n − 1"},
    {"bully", "n² − n − 1 + announce", "n² − n − 1"},
    {"bully", "min(4, 2 + q) min(1, a − 1)", "4"},
    {"bully", "3 min(1, a − 1)", "3"},
    {"ring-list", "k(2a + announce(d − 1))", "2ka"},
    {"ring-list", "2a − announce·max(1, a − 1)", "2a"},
    {"chang-roberts-token", "(2 − announce)a", "2a"},
    {"chang-roberts-token", "Σ + (1 − announce)a", "Σ + a"},
    {"franklin", "2aρ + (1 − announce)a", "2aρ + a"},
    {"franklin", "1 + (ρ − announce)a", "1 + ρa"},
    {"franklin", "1 + (ρ − announce)a + ⌊a/2⌋", "1 + ρa + ⌊a/2⌋"},
    {"peterson", "2af + (2 − announce)a", "2af + 2a"},
    {"peterson", "2af + (3 − announce)a − 1", "2af + 3a − 1"},
    {"multicast", "(h + 1)(n + a − 2) + (1 − timeout)(n − 1)", "a(2n − 3) + n − 1"},
    {"multicast", "a(n + a − 2) + (1 − timeout)(n − 1)", "a(2n − 3) + n − 1"},
    {"multicast", "(min(4, 3 + h) − timeout) min(1, a − 1)", "4"},
    {"multicast", "(3 − timeout) min(1, a − 1)", "3"},
    {"multicast-lean", "(h + 2)(n − 1) + h(h + 1)/2", "n(n − 1) + a(a − 1)/2"},
    {"multicast-lean", "(a + 1)(n − 1) + a(a − 1)/2", "n(n − 1) + a(a − 1)/2"},
    {"multicast-lean", "min(4, 3 + h) min(1, a − 1)", "4"},
    {"multicast-lean", "3 min(1, a − 1)", "3"},
};

static const char *simplified(const char *algorithm, const char *formula)
{
    for (size_t i = 0; i < sizeof simpler / sizeof *simpler; i++)
        if (strcmp(simpler[i].algorithm, algorithm) == 0 && strcmp(simpler[i].general, formula) == 0)
            return simpler[i].simple;
    return formula;
}

/* What a text states where the formula is not its own. */
static const struct {
    const char *algorithm, *quantity, *load, *remark;
} remarks[] = {
    {"bully", "messages", "one", "CS677 has O(n²). If the best lives the worst is (n + 2)(n − 1)"},
    {"ring-basic", "messages", "one", "CS425 has 2n to 3n − 1, which are δ = 0 and δ = n − 1"},
    {"chang-roberts", "messages", "one", "CS425 has 2n to 3n − 1, which are δ = 0 and δ = n − 1"},
    {"chang-roberts", "messages", "all", "CS425 has 3n − 1 at best and O(n²) at worst"},
    {"chang-roberts-token", "messages", "all", "Ghosh has O(n²); a of them tell all nodes, which the text leaves out"},
    {"franklin", "messages", "all", "Ghosh has O(n log n); a of them tell all nodes, which the text leaves out"},
    {"peterson", "messages", "all", "Ghosh has O(n log n); a of them tell all nodes, which the text leaves out"},
};

static const char *remark_on(const struct cv_measurement *row)
{
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (strcmp(remarks[i].algorithm, row->algorithm) == 0 && strcmp(remarks[i].quantity, row->quantity) == 0 &&
            strcmp(remarks[i].load, row->load) == 0)
            return remarks[i].remark;
    return NULL;
}

static int put_row(struct cv_comparison *comparison, const struct compare_play *play, const char *quantity,
                   uint64_t measured, const struct cv_expectation *expected)
{
    struct cv_measurement *row = compare_add_row(comparison);
    if (!row)
        return CV_ENOMEM;
    row->algorithm = play->request.plan.algorithm->name;
    row->load = play->request.plan.start ? "all" : "one";
    row->quantity = quantity;
    row->nodes = play->result.scenario.group.nodes;
    row->known = play->result.judgement.has_leader;
    row->measured = (double)measured;
    if (expected->cost) {
        row->formula = simplified(row->algorithm, expected->cost->formula);
        row->expected = expected->value;
        row->exact = expected->cost->exact;
        row->source = expected->cost->source;
        row->where = expected->cost->where;
        row->holds = compare_agrees(row);
    }
    row->remark = remark_on(row);
    row->command = sim_command(&play->request, play->request.plan.seed);
    return row->command ? 0 : CV_ENOMEM;
}

static int measure(struct cv_comparison *comparison, const struct compare_task *task, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = task->subject;
    const char *path = task->path;
    const uint32_t nodes = task->nodes;
    char line[200], circumstances[64];
    struct compare_play play;
    snprintf(circumstances, sizeof circumstances,
             algorithm->topology == CV_GRAPH ? "--graph random:%" PRIu32 : "--crash %" PRIu32 "@0",
             algorithm->topology != CV_GRAPH       ? nodes
             : 2 * nodes < nodes * (nodes - 1) / 2 ? 2 * nodes
                                                   : nodes * (nodes - 1) / 2);
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --ids random %s%s --seed %" PRIu64, path ? "" : algorithm->name,
             nodes, circumstances, task->all ? " --start all" : "", comparison->seed);
    int error = path ? compare_play_own(comparison, &play, path, line, complaint)
                     : compare_play(comparison, &play, line, complaint);
    const struct cv_judgement *judgement = &play.result.judgement;
    if (!error)
        error = put_row(comparison, &play, "messages", play.result.run.total, &judgement->messages);
    if (!error)
        error = put_row(comparison, &play, "time", play.result.run.time, &judgement->delay);
    compare_play_free(&play);
    return error;
}

static int add_tasks(struct compare_tasks *tasks, const struct cv_comparison *comparison,
                     const struct cv_algorithm *algorithm, const char *path)
{
    int error = 0;
    for (uint32_t i = 0; comparison->sizes[i]; i++)
        for (int all = 0; all < 2 && !error; all++)
            error = compare_add_task(tasks,
                                     &(struct compare_task){measure, algorithm, path, comparison->sizes[i], all != 0});
    return error;
}

int compare_election(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                     struct cv_complaint *complaint)
{
    int error = plugin_list_check(own, CV_ELECTION, complaint);
    comparison->title = "Elections, measured in the simulator beside formulas";
    comparison->sections = sections;
    comparison->notes = notes;
    for (const struct cv_algorithm *const *each = cv_algorithms; *each && !error; each++)
        if ((*each)->problem == CV_ELECTION)
            error = add_tasks(tasks, comparison, *each, NULL);
    for (uint32_t i = 0; i < own->count && !error; i++)
        error = add_tasks(tasks, comparison, own->algorithms[i], own->paths[i]);
    return error;
}
