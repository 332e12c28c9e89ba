// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/check_arrangements.h"
#include "cli/study/check_report.h"
#include "cli/study/replay_file.h"
#include "cli/study/sim_outputs.h"

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line on a terminal, once it takes longer than two seconds. */
struct progress {
    double started, told;
    const struct check_request *request;
};

static void show_progress(void *context, const struct cv_check_progress *now)
{
    struct progress *progress = context;
    const double seconds = wall_seconds();
    if (seconds - progress->started < 2 || seconds - progress->told < 0.2)
        return;
    progress->told = seconds;
    fputs("\r\033[K", stderr);
    if (progress->request->arrangement_count > 1)
        fprintf(stderr, "arrangement %llu of %llu, ", (unsigned long long)progress->request->arrangement,
                (unsigned long long)progress->request->arrangement_count);
    fprintf(stderr, "%s: %.2f million states, %.2f million a second, depth %u, queue %llu, %.0f MB", now->phase,
            (double)now->states / 1e6, (double)now->states / 1e6 / (seconds - progress->started), now->depth,
            (unsigned long long)now->queue, (double)now->bytes / 1e6);
}

/* Plays the counterexample, to tell and draw it. */
static int show(const struct check_report *report, struct cv_complaint *complaint)
{
    const struct check_request *request = report->request;
    struct sim_request pictures = request->group;
    struct sim_outputs outputs = {0};
    struct sim_result result = {0};
    struct cv_replay *replay = NULL;
    pictures.transcript = !pictures.json;
    int error = sim_outputs_open(&outputs, &pictures, report->scenario, complaint);
    if (!error)
        error = cv_replay_new(&replay, report->scenario, &request->options, &outputs.observer);
    if (!error)
        error = cv_replay_run(replay, &report->result->trail, &result.run, complaint);
    if (!error) {
        result.scenario = *result.run.scenario;
        error = cv_judge(&result.run, &result.judgement, complaint);
    }
    if (!error)
        error = sim_outputs_finish(&outputs, &result, complaint);
    if (!error && report->result->trail.loop != CV_NEVER && !pictures.json)
        printf("from t=%llu on it repeats for ever\n\n", (unsigned long long)report->result->trail.loop + 1);
    sim_outputs_close(&outputs);
    cv_replay_free(replay);
    return error;
}

static int tell(const struct check_report *report, struct cv_complaint *complaint)
{
    const struct check_request *request = report->request;
    int error = 0;
    if (report->result->trail.count && request->replay)
        error = replay_write(request->replay, report, complaint);
    if (!error && report->result->trail.count)
        error = show(report, complaint);
    if (error)
        return error;
    if (request->group.json)
        check_report_json(stdout, report);
    else
        check_report_text(stdout, report);
    return 0;
}

static int run(struct check_request *request)
{
    struct cv_complaint complaint = {{0}};
    struct cv_scenario scenario = {0};
    struct cv_check_result result = {0};
    struct progress progress = {.started = wall_seconds(), .request = request};
    int error = cv_plan_build(&request->group.plan, &scenario, &complaint);
    struct cv_check_options options = request->options;
    options.interrupted = &command_interrupted;
    if (isatty(STDERR_FILENO)) {
        options.progress = show_progress;
        options.progress_context = &progress;
    }
    if (!error)
        error = check_arrangements(request, &scenario, &options, &result, &complaint);
    if (progress.told > 0)
        fputs("\r\033[K", stderr);
    if (!error)
        error = tell(&(struct check_report){request, &scenario, &result}, &complaint);
    const int code = error ? command_fail(error, &complaint) : command_exit_code(result.judgement.verdict);
    cv_check_free(&result);
    cv_scenario_free(&scenario);
    return code;
}

int command_check(int argc, char **argv)
{
    struct check_request request;
    struct cv_complaint complaint = {{0}};
    int code = EXIT_HELD;
    const int error = check_read(argc, argv, &request, &complaint);
    if (error)
        code = command_fail(error, &complaint);
    else if (request.help)
        options_help(&check_options, stdout);
    else {
        command_catch_signals();
        code = run(&request);
    }
    check_free(&request);
    return code;
}
