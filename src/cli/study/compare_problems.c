// SPDX-License-Identifier: MIT
/* The problems in the texts' tables, each shown by a run that has it and a run that does not. */
#include "cli/study/compare_problems.h"

#include "cli/study/compare_play.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct problem {
    const char *problem, *algorithm, *circumstance, *options;
    enum cv_verdict expected;
    uint32_t runs; /* how many seeds; 0: one run */
} problems[] = {
    {"Coordinator crash", "central", "without views", "-n 5 --entries 2 --crash 5@6 --views off", CV_VIOLATED, 0},
    {"Coordinator crash", "central-deny", "without views", "-n 5 --entries 2 --crash 5@6 --views off", CV_VIOLATED, 0},
    {"Coordinator crash", "central", "a new view elects another, and waiting nodes ask again",
     "-n 5 --entries 2 --crash 5@6 --views on", CV_HELD, 0},
    {"Crash of any process", "ricart-agrawala", "without views", "-n 5 --entries 2 --crash 3@5 --views off",
     CV_VIOLATED, 0},
    {"Crash of any process", "ricart-agrawala", "a new view leaves the dead out",
     "-n 5 --entries 2 --crash 3@5 --views on", CV_HELD, 0},
    {"Crash of any process", "lamport", "without views", "-n 5 --entries 2 --crash 3@5 --views off", CV_VIOLATED, 0},
    {"Crash of any process", "lamport", "a new view leaves the dead out", "-n 5 --entries 2 --crash 3@5 --views on",
     CV_HELD, 0},
    {"Crash of any process", "maekawa", "a voter dies, without views", "-n 9 --entries 2 --crash 5@4 --views off",
     CV_VIOLATED, 0},
    {"Crash of any process", "maekawa", "a new view has new voting sets", "-n 9 --entries 2 --crash 5@4 --views on",
     CV_HELD, 0},
    {"Lost token", "token-ring", "it dies with its holder, without views", "-n 5 --entries 2 --crash 2@2 --views off",
     CV_VIOLATED, 0},
    {"Lost token", "token-ring", "after 20 ticks the elected one asks all, then makes a new one",
     "-n 5 --entries 2 --crash 2@2 --views off --set regenerate=20", CV_HELD, 0},
    {"Lost token", "token-ring", "a new view begins with a new token", "-n 5 --entries 2 --crash 2@2 --views on",
     CV_HELD, 0},
    {"Lost token", "token-ring", "made anew without asking, while its holder is just slow",
     "--ids 0..3 --request 3@0+50,1@5 --set coordinator=0 --set regenerate=8 --set confirm=no", CV_VIOLATED, 0},
    {"Deadlock", "maekawa-plain", "random delays", "-n 9 --delay 1..9", CV_VIOLATED, 100},
    {"Deadlock", "maekawa", "the same, with fail, inquire and relinquish", "-n 9 --delay 1..9", CV_HELD, 100},
    {"Starvation", "voting", "the node that tries again at the right time wins", "-n 9 --entries 30", CV_HELD, 0},
    {"Starvation", "ricart-agrawala", "the same load: every node has its turn", "-n 9 --entries 30", CV_HELD, 0},
    {"Starvation", "token-ring", "the same load: the token comes round", "-n 9 --entries 30", CV_HELD, 0},
    {"Forgotten votes", "voting", "a voter restarts and votes again, without views",
     "-n 5 --request 1@0+50,3@10 --crash 3@5 --recover 3@6 --views off", CV_VIOLATED, 0},
    {"Forgotten votes", "voting", "a new view tells it which node is inside",
     "-n 5 --request 1@0+50,3@10 --crash 3@5 --recover 3@6 --views on", CV_HELD, 0},
};

/* The longest wait, and how often others entered meanwhile. */
static void tell_waiting(const struct cv_run *run, char *text, size_t size)
{
    const struct cv_entry *worst = NULL;
    uint64_t others = 0;
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *it = &run->entries[i];
        if (it->entered != CV_NEVER && (!worst || it->entered - it->requested > worst->entered - worst->requested))
            worst = it;
    }
    for (uint64_t i = 0; worst && i < run->entry_count; i++)
        others += run->entries[i].entered > worst->requested && run->entries[i].entered < worst->entered;
    if (worst)
        snprintf(text, size, "; longest wait %" PRIu64 " ticks, %" PRIu64 " entries meanwhile",
                 worst->entered - worst->requested, others);
}

static void tell_outcome(const struct compare_play *play, struct cv_demonstration *it)
{
    const struct cv_run *run = &play->result.run;
    uint64_t served = 0, owed = 0;
    char waiting[100] = "";
    for (uint64_t i = 0; i < run->entry_count; i++) {
        served += run->entries[i].entered != CV_NEVER;
        owed += run->entries[i].entered == CV_NEVER && !run->entries[i].died;
    }
    if (play->result.judgement.verdict == CV_HELD && run->entry_count > 100)
        tell_waiting(run, waiting, sizeof waiting);
    const char *reason = play->result.judgement.reason, *colon = strstr(reason, ": ");
    if (owed || play->result.judgement.verdict != CV_HELD)
        snprintf(it->outcome, sizeof it->outcome, "%" PRIu64 " of %" PRIu64 " requests served; %.150s", served,
                 run->entry_count, colon ? colon + 2 : reason);
    else
        snprintf(it->outcome, sizeof it->outcome, "%" PRIu64 " entries, every live node served%s", served, waiting);
}

/* Runs many seeds; the verdict is the worst. */
static int play_many(const struct cv_comparison *comparison, const struct problem *problem, struct cv_demonstration *it,
                     struct cv_complaint *complaint)
{
    char line[256];
    uint32_t held = 0;
    int error = 0;
    for (uint32_t seed = 1; seed <= problem->runs && !error; seed++) {
        struct compare_play play;
        snprintf(line, sizeof line, "%s %s --seed %" PRIu32, problem->algorithm, problem->options, seed);
        error = compare_play(comparison, &play, line, complaint);
        held += !error && play.result.judgement.verdict == CV_HELD;
        compare_play_free(&play);
    }
    it->verdict = held == problem->runs ? CV_HELD : CV_VIOLATED;
    snprintf(it->outcome, sizeof it->outcome,
             "%" PRIu32 " of %" PRIu32 " runs served every node, %" PRIu32 " got stuck", held, problem->runs,
             problem->runs - held);
    if (asprintf(&it->command, "conclave sim %s %s --seed 1 --runs %" PRIu32, problem->algorithm, problem->options,
                 problem->runs) < 0)
        it->command = NULL;
    return error;
}

static int play_one(const struct cv_comparison *comparison, const struct problem *problem, struct cv_demonstration *it,
                    struct cv_complaint *complaint)
{
    char line[256];
    struct compare_play play;
    snprintf(line, sizeof line, "%s %s --seed 1", problem->algorithm, problem->options);
    const int error = compare_play(comparison, &play, line, complaint);
    if (!error) {
        it->verdict = play.result.judgement.verdict;
        tell_outcome(&play, it);
        it->command = sim_command(&play.request, 1);
    }
    compare_play_free(&play);
    return error;
}

static int show(struct cv_comparison *comparison, const struct compare_task *task, struct cv_complaint *complaint)
{
    const struct problem *problem = task->subject;
    struct cv_demonstration *it = compare_add_demonstration(comparison);
    if (!it)
        return CV_ENOMEM;
    it->problem = problem->problem;
    it->algorithm = problem->algorithm;
    it->circumstance = problem->circumstance;
    it->expected = problem->expected;
    const int error =
        problem->runs ? play_many(comparison, problem, it, complaint) : play_one(comparison, problem, it, complaint);
    return error ? error : it->command ? 0 : CV_ENOMEM;
}

int compare_problems(struct compare_tasks *tasks)
{
    int error = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems && !error; i++)
        error = compare_add_task(tasks, &(struct compare_task){show, &problems[i], NULL, 0, false});
    return error;
}
