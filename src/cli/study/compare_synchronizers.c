// SPDX-License-Identifier: MIT
/*
 * Measures what a synchronizer adds to a round: messages and time, and how gamma trades one for the other. Also Bellman
 * and Ford's algorithm with rounds and without.
 */
#include "cli/study/compare_synchronizers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/study/compare_play.h"
#include "core/formula/formula.h"
#include "core/parse.h"

#define ROUNDS 20
#define REACH 2.25 /* over √n: a node far from the border reaches about πr²n = 16 nodes */

static const uint32_t gadgets[] = {5, 9, 13, 17, 21, 25, 0};

static const struct cv_section sections[] = {
    {"Messages a round, besides the app's own and their acknowledgements", "control", "round", true, "time", NULL},
    {"Time a round, in message times", "time", "round", false, NULL, NULL},
    {"Messages of Bellman and Ford's algorithm on the gadget", "messages", "gadget", true, NULL, gadgets},
    {"Distances that its last node comes to, one shorter than the other", "updates", "gadget", false, NULL, gadgets},
    {0},
};

static const char *const notes[] = {
    "n nodes at random in a square, E edges between those closer than 2.25/√n, R = 20 rounds in which",
    "every node tells every neighbour. D the longest delay, here 1; h the height of beta's tree, or of",
    "the tallest of gamma's; c clusters, P pairs of neighbouring ones. k: a cluster grows while its",
    "next layer has at least k − 1 times as many nodes. On the gadget (--graph gadget:K, n = 2K + 1)",
    "ways that cost nothing are slow: without rounds the fast ones are told first, and corrected 2^K",
    "times.",
    NULL,
};

/* ---- formulas ---- */

static double height(const struct cv_scenario *scenario)
{
    const struct cv_parameter *parameters = scenario->algorithm->parameters;
    if (parameters && parameters[0].type == CV_MEMBER) /* the root */
        return cv_graph_eccentricity(&scenario->graph, (cv_node)scenario->parameters[0], NULL);
    return scenario->clusters.height;
}

static bool look_up(void *context, const char *name, size_t length, double *value)
{
    const struct cv_scenario *scenario = context;
    if (length != 1)
        return false;
    switch (*name) {
    case 'n':
        *value = scenario->group.nodes;
        return true;
    case 'E':
        *value = (double)cv_graph_edge_count(&scenario->graph);
        return true;
    case 'R':
        *value = (double)scenario->group.rounds;
        return true;
    case 'D':
        *value = (double)scenario->group.bound;
        return true;
    case 'h':
        *value = height(scenario);
        return true;
    case 'c':
        *value = scenario->clusters.count;
        return true;
    case 'P':
        *value = (double)scenario->clusters.preferred_edges;
        return true;
    default:
        return false;
    }
}

struct finding {
    const char *quantity, *formula;
    bool exact;
    double measured;
    uint32_t source; /* enum cv_source */
    const char *remark;
};

static int put_row(struct cv_comparison *comparison, struct compare_play *play, const char *name, const char *load,
                   const struct finding *finding, struct cv_complaint *complaint)
{
    struct cv_scenario *scenario = &play->result.scenario;
    const struct cv_formula_names names = {look_up, scenario};
    struct cv_measurement *row = compare_add_row(comparison);
    if (!row)
        return CV_ENOMEM;
    *row = (struct cv_measurement){.algorithm = name,
                                   .load = load,
                                   .quantity = finding->quantity,
                                   .nodes = scenario->group.nodes,
                                   .known = play->result.judgement.verdict == CV_HELD,
                                   .measured = finding->measured,
                                   .formula = finding->formula,
                                   .exact = finding->exact,
                                   .source = finding->source,
                                   .where = finding->source == CV_TEXT ? "Ghosh" : "docs/compare.md",
                                   .remark = finding->remark};
    row->command = sim_command(&play->request, play->request.plan.seed);
    const int error = cv_formula_evaluate(row->formula, &names, &row->expected, complaint);
    row->holds = compare_agrees(row);
    return error ? error : row->command ? 0 : CV_ENOMEM;
}

/* ---- a round ---- */

#define AS_MANY UINT32_MAX

static const struct host {
    const char *name, *algorithm;
    const char *control, *time;
    uint32_t k; /* gamma's parameter K; AS_MANY: n; 0: it has none */
    bool bound; /* `time` is an upper bound */
    uint32_t control_source, time_source;
    const char *control_remark; /* what the text has of messages */
    const char *time_remark;    /* what the text has of time */
} hosts[] = {
    {"lockstep", "lockstep", "0", "1", 0, false, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"abd", "abd", "0", "2D", 0, true, CV_DERIVED, CV_TEXT, NULL, NULL},
    {"alpha", "alpha", "2E", "3", 0, false, CV_DERIVED, CV_TEXT, "Ghosh has O(E)", NULL},
    {"beta", "beta", "2(n − 1)", "2h + 2 + h/R", 0, false, CV_TEXT, CV_DERIVED, NULL,
     "Ghosh has h, the depth of the tree: one way, without the way back and the messages"},
    {"gamma, k = 1", "gamma", "4(n − c) + 2P", "4h + 3", 1, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"gamma, k = 2", "gamma", "4(n − c) + 2P", "4h + 3", 2, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"gamma, k = 3", "gamma", "4(n − c) + 2P", "4h + 3", 3, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"gamma, k = 4", "gamma", "4(n − c) + 2P", "4h + 3", 4, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"gamma, k = 8", "gamma", "4(n − c) + 2P", "4h + 3", 8, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
    {"gamma, k = n", "gamma", "4(n − c) + 2P", "4h + 3", AS_MANY, true, CV_DERIVED, CV_DERIVED, NULL, NULL},
};

/* Counts all kinds but the app's messages and their acknowledgements. */
static uint64_t count_control(const struct cv_run *run)
{
    const struct cv_algorithm *algorithm = run->scenario->algorithm;
    const uint32_t ack = cv_kind_find(algorithm, "ack", 3);
    return run->total - run->count[0] - (ack < CV_MAX_KINDS ? run->count[ack] : 0);
}

static int measure_round(struct cv_comparison *comparison, const struct compare_task *task,
                         struct cv_complaint *complaint)
{
    const struct host *host = task->subject;
    const uint32_t nodes = task->nodes;
    char line[200], clusters[40] = "";
    struct compare_play play;
    if (host->k)
        snprintf(clusters, sizeof clusters, " --set clusters=%" PRIu32, host->k == AS_MANY ? nodes : host->k);
    snprintf(line, sizeof line, "%s -n %" PRIu32 " --graph geometric:%.3f --set rounds=%d%s --seed %" PRIu64,
             host->algorithm, nodes, REACH / sqrt(nodes), ROUNDS, clusters, comparison->seed);
    int error = compare_play(comparison, &play, line, complaint);
    const struct cv_run *run = &play.result.run;
    if (!error)
        error = put_row(comparison, &play, host->name, "round",
                        &(struct finding){"control", host->control, true, (double)count_control(run) / ROUNDS,
                                          host->control_source, host->control_remark},
                        complaint);
    if (!error)
        error = put_row(comparison, &play, host->name, "round",
                        &(struct finding){"time", host->time, !host->bound, (double)run->time / ROUNDS,
                                          host->time_source, host->time_remark},
                        complaint);
    compare_play_free(&play);
    return error;
}

/* ---- the gadget ---- */

static const struct climber {
    const char *name, *options;
    const char *messages, *updates;
    const char *remark; /* what the text has */
} climbers[] = {
    {"without rounds", "bellman-ford-async", "3(2^((n − 1)/2) − 1)", "2^((n − 1)/2)", "Ghosh: exponential in n"},
    {"the same, equal delays", "bellman-ford-async --delay unit", "3(n² − 1)/8", "(n + 1)/2", NULL},
    {"synchronous", "bellman-ford --delay unit", "3(n − 1)²/2", "(n + 1)/2", "Ghosh has O(nE)"},
    {"on alpha", "alpha", "6(n − 1)²", "(n + 1)/2", "Ghosh has O(nE)"},
    {"on beta", "beta", "5(n − 1)²", "(n + 1)/2", NULL},
};

static int measure_gadget(struct cv_comparison *comparison, const struct compare_task *task,
                          struct cv_complaint *complaint)
{
    const struct climber *climber = task->subject;
    const uint32_t nodes = task->nodes;
    char line[160];
    struct compare_play play;
    snprintf(line, sizeof line, "%s --graph gadget:%" PRIu32 " --seed %" PRIu64, climber->options, (nodes - 1) / 2,
             comparison->seed);
    int error = compare_play(comparison, &play, line, complaint);
    const struct cv_run *run = &play.result.run;
    if (!error)
        error = put_row(
            comparison, &play, climber->name, "gadget",
            &(struct finding){"messages", climber->messages, true, (double)run->total, CV_DERIVED, climber->remark},
            complaint);
    if (!error) {
        const double updates = run->standing(run->runtime, nodes - 1).updates;
        error = put_row(comparison, &play, climber->name, "gadget",
                        &(struct finding){"updates", climber->updates, true, updates, CV_DERIVED, NULL}, complaint);
    }
    compare_play_free(&play);
    return error;
}

int compare_synchronizers(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                          struct cv_complaint *complaint)
{
    int error = 0;
    if (own->count)
        return cv_complain(complaint, "--with %s: expected with mutex or election", cv_brief(own->paths[0]).text);
    comparison->title = "Synchronizers, measured in the simulator beside formulas";
    comparison->sections = sections;
    comparison->notes = notes;
    for (size_t which = 0; which < sizeof hosts / sizeof *hosts; which++)
        for (uint32_t i = 0; comparison->sizes[i] && !error; i++)
            error = compare_add_task(
                tasks, &(struct compare_task){measure_round, &hosts[which], NULL, comparison->sizes[i], false});
    for (size_t which = 0; which < sizeof climbers / sizeof *climbers; which++)
        for (uint32_t i = 0; gadgets[i] && !error; i++)
            error = compare_add_task(tasks,
                                     &(struct compare_task){measure_gadget, &climbers[which], NULL, gadgets[i], false});
    return error;
}
