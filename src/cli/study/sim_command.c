// SPDX-License-Identifier: MIT
#include "cli/study/sim_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/check_command.h"
#include "cli/study/sim_outputs.h"
#include "show/text/report.h"

static const char help[] =
    "usage: conclave sim ALGORITHM|./FILE.so [OPTION...]\n"
    "\n"
    "Runs an algorithm in virtual time. The same seed and options print the same bytes.\n"
    "\n"
    "The group\n"
    "  -n, --nodes N            how many nodes (8)\n"
    "      --ids LIST           ids in node order, which is sending order on rings: 3,32,5 or 0..7;\n"
    "                           random: a permutation of 1..N by seed (1..N)\n"
    "      --attr LIST          what makes a node better, in node order (the id itself)\n"
    "      --labels LIST        what to call the nodes in all that people read: a..j or red,green,blue (the ids)\n"
    "      --start LIST|all     who calls the election at time 0 (the smallest live id)\n"
    "      --graph GRAPH        ring, line, star, tree, complete, grid:RxC, random:EDGES, geometric:RADIUS, gadget:K,\n"
    "                           edges:1-2,1-3 or a file of `a b [weight]` lines; for algorithms that run on\n"
    "                           graphs (random:2N)\n"
    "      --set KEY=VALUE      a parameter of the algorithm; conclave list ALGORITHM shows them; repeatable\n"
    "Synchronizers\n"
    "      --app NAME           the synchronous algorithm it hosts (bellman-ford); --set takes its parameters too,\n"
    "                           and rounds=R, how many there are (N-1)\n"
    "Mutual exclusion\n"
    "      --request ID@T[+HOLD][/NAME]\n"
    "                           ID wants to enter at time T, for HOLD ticks (1), the critical section NAME (0);\n"
    "                           a list, repeatable\n"
    "      --entries E          without --request: how often everybody enters, from time 0 on (1)\n"
    "      --hold H             for how long each time (1)\n"
    "      --think P            and with what pause before it wants to enter again (0)\n"
    "      --names K            critical sections side by side (1)\n"
    "      --views on|off       when somebody dies or returns, go on in a new view (on if something crashes)\n"
    "      --election NAME      which algorithm elects a new coordinator then (bully)\n"
    "The network\n"
    "      --seed S             the source of all chance (1)\n"
    "      --delay D            ticks a message takes: unit, A..B, or exp:MEAN (unit)\n"
    "      --lag P:Q[:KIND]=T   messages from P to Q, or only that kind, take T ticks; * for everybody; repeatable\n"
    "      --loss P             probability that a packet is lost below the reliable channel (0)\n"
    "      --duplicate P        probability that it arrives twice (0)\n"
    "      --reorder            packets overtake each other\n"
    "      --unordered          messages overtake each other: no reliable channel puts them back in order\n"
    "      --serial             a link carries one message at a time: the others pile up before it\n"
    "What goes wrong; all repeatable\n"
    "      --crash ID@T         at time T; @0: dead from the start and nobody is told;\n"
    "                           @before:KIND, @after:KIND: as it first sends such a message\n"
    "      --recover ID@T       comes back with a fresh state\n"
    "      --partition A,B/C,D@T1..T2\n"
    "                           cuts the network; what is sent across is lost\n"
    "      --alternate P:Q      a second link that no partition cuts; messages are relayed over it\n"
    "      --detect D           the failure detector tells the living D ticks after the fact (1)\n"
    "      --suspect P:Q@T      P falsely suspects Q; * for everybody\n"
    "      --blind P:Q          P never learns that Q died; * for everybody\n"
    "      --until T            give up at time T\n"
    "Output\n"
    "      --json               the result as JSON\n"
    "      --runs R             R seeds from S on: distribution, confidence interval, worst seed\n"
    "      --diagram            a space-time diagram in the terminal\n"
    "      --transcript         the run told step by step\n"
    "      --svg FILE           a space-time diagram to keep\n"
    "      --trace FILE         every event as JSON Lines, with Lamport and vector clocks\n"
    "      --shiviz FILE        a log for ShiViz\n"
    "      --timing             tell the wall time\n"
    "      --replay FILE        in the place of an algorithm: play a counterexample of conclave check --trace FILE\n"
    "\n"
    "Exit codes: 0 held, 1 violated, 2 wrong usage or unfinished.\n"
    "\n"
    "  conclave sim bully --ids 0..7 --crash 7@0 --start 4 --diagram\n"
    "  conclave sim ricart-agrawala -n 4 --entries 2 --hold 3 --diagram\n";

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line on a terminal, once it takes longer than two seconds. */
struct progress {
    double started, told;
};

static void show_progress(void *context, uint64_t now, uint64_t messages)
{
    struct progress *progress = context;
    const double seconds = wall_seconds();
    if (seconds - progress->started < 2 || seconds - progress->told < 0.2)
        return;
    progress->told = seconds;
    fprintf(stderr, "\r\033[Ktime %llu, %.1f million messages, %.1f million a second", (unsigned long long)now,
            (double)messages / 1e6, (double)messages / 1e6 / (seconds - progress->started));
}

int sim_simulate(const struct cv_plan *plan, const struct cv_sim_options *options, struct sim_result *result,
                 struct cv_complaint *complaint)
{
    *result = (struct sim_result){0};
    int error = cv_plan_build(plan, &result->scenario, complaint);
    if (!error)
        error = cv_sim_new(&result->sim, &result->scenario, options);
    const double started = wall_seconds();
    if (!error)
        error = cv_sim_run(result->sim, &result->run);
    result->seconds = wall_seconds() - started;
    return error ? error : cv_judge(&result->run, &result->judgement, complaint);
}

void sim_result_free(struct sim_result *result)
{
    cv_sim_free(result->sim);
    cv_scenario_free(&result->scenario);
    *result = (struct sim_result){0};
}

char *sim_command(const struct sim_request *request, uint64_t seed)
{
    char *command;
    if (asprintf(&command, "%s --seed %llu", request->command, (unsigned long long)seed) < 0)
        command_out_of_memory();
    return command;
}

static void report(const struct sim_request *request, const struct sim_result *result)
{
    struct cv_transport_counts counts;
    char *command = sim_command(request, request->plan.seed);
    cv_sim_transport(result->sim, &counts);
    const struct cv_report report = {.run = &result->run,
                                     .judgement = &result->judgement,
                                     .command = command,
                                     .timed = request->timing,
                                     .seconds = result->seconds,
                                     .transport = cv_scenario_raw(&result->scenario),
                                     .packets = counts.packets,
                                     .lost = counts.lost,
                                     .duplicated = counts.duplicated,
                                     .retransmitted = counts.retransmitted,
                                     .colour = command_colour()};
    if (request->json)
        cv_report_json(stdout, &report);
    else
        cv_report_text(stdout, &report);
    free(command);
}

int sim_run_once(const struct sim_request *request)
{
    struct cv_complaint complaint = {{0}};
    struct sim_result result = {0};
    struct sim_outputs outputs = {0};
    struct progress progress = {.started = wall_seconds()};
    struct cv_sim_options options = {.interrupted = &command_interrupted};
    if (isatty(STDERR_FILENO)) {
        options.progress = show_progress;
        options.progress_context = &progress;
    }
    int error = cv_plan_build(&request->plan, &result.scenario, &complaint);
    if (!error)
        error = sim_outputs_open(&outputs, request, &result.scenario, &complaint);
    options.observer = outputs.observer;
    if (!error)
        error = cv_sim_new(&result.sim, &result.scenario, &options);
    const double started = wall_seconds();
    if (!error)
        error = cv_sim_run(result.sim, &result.run);
    result.seconds = wall_seconds() - started;
    if (progress.told > 0)
        fputs("\r\033[K", stderr);
    if (!error)
        error = cv_judge(&result.run, &result.judgement, &complaint);
    if (!error)
        error = sim_outputs_finish(&outputs, &result, &complaint);
    int code = EXIT_UNKNOWN;
    if (error) {
        code = command_fail(error, &complaint);
    } else {
        report(request, &result);
        code = command_exit_code(result.judgement.verdict);
    }
    sim_outputs_close(&outputs);
    sim_result_free(&result);
    return code;
}

int command_sim(int argc, char **argv)
{
    struct sim_request request;
    struct cv_complaint complaint = {{0}};
    int code = EXIT_HELD;
    const int error = sim_read(argc, argv, &request, &complaint);
    if (error)
        code = command_fail(error, &complaint);
    else if (request.help)
        fputs(help, stdout);
    else {
        command_catch_signals();
        code = request.replay ? sim_replay(&request) : request.runs ? sim_run_many(&request) : sim_run_once(&request);
    }
    sim_free(&request);
    return code;
}
