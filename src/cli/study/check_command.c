// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check/search/rank_file.h"
#include "cli/command.h"
#include "cli/study/check_arrangements.h"
#include "cli/study/check_report.h"
#include "cli/study/job.h"
#include "cli/study/replay_file.h"
#include "cli/study/sim_outputs.h"
#include "core/wall_clock.h"
#include "guard/guarded.h"
#include "ranks/launch.h"

#define GIVE_UP_MS 500u /* an MPI library kills all ranks a second after a signal */

struct progress {
    struct command_progress line;
    const struct check_request *request;
};

static void show_progress(void *context, const struct cv_check_progress *now)
{
    struct progress *progress = context;
    if (!command_progress_due(&progress->line))
        return;
    char place[64] = "";
    if (progress->request->arrangement_count > 1)
        snprintf(place, sizeof place, "arrangement %llu of %llu, ", (unsigned long long)progress->request->arrangement,
                 (unsigned long long)progress->request->arrangement_count);
    command_progress_tell(&progress->line, "%s%s: %.2f M states, %.2f M a second, depth %u, queue %llu, %.0f MB", place,
                          now->phase, (double)now->states / 1e6,
                          (double)now->states / 1e6 / (progress->line.told - progress->line.started), now->depth,
                          (unsigned long long)now->queue, (double)now->bytes / 1e6);
}

/* Plays the counterexample, to print and draw it. */
static int show(const struct check_report *report, struct cv_complaint *complaint)
{
    const struct check_request *request = report->request;
    struct sim_request pictures = request->group;
    struct sim_outputs outputs = {0};
    struct sim_result result = {0};
    struct cv_replay *replay = NULL;
    pictures.transcript = pictures.last_states = !pictures.json;
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

/* What keeps ranks from sharing a search; NULL: nothing. */
static const char *obstacle(const struct check_request *request)
{
    if (request->options.deep)
        return "--depth-first goes on from its newest state";
    if (request->options.threads > 1)
        return "--threads is for one rank; more ranks do the same";
    return NULL;
}

/* The ranks that search. One that goes without the others hears of no memory but its own. */
static struct cv_ranks *searchers(const struct check_request *request, struct cv_ranks *ranks)
{
    const char *reason = cv_ranks_count(ranks) > 1 ? obstacle(request) : NULL;
    if (reason && job_tells(ranks))
        fprintf(stderr, "conclave: the first rank searches alone: %s\n", reason);
    return cv_ranks_count(ranks) > 1 && !reason ? ranks : NULL;
}

/* Other ranks are gone, or do not answer. The first rank says how to go on while it can. */
static void give_up(void *context)
{
    const struct check_request *request = context;
    if (request->checkpoint.exists)
        command_refuse("interrupted; go on: %s", request->go_on);
    else
        command_refuse("interrupted");
    _exit(EXIT_UNKNOWN);
}

/* Opens the checkpoint in the first rank that searches, for all. False: the command ends with that exit code. */
static bool settle(struct check_request *request, struct cv_ranks *ranks, struct cv_scenario *scenario, int *code)
{
    struct cv_complaint complaint = {{0}};
    int error = cv_plan_build(&request->group.plan, scenario, &complaint);
    if (!error)
        error = check_resume(request, scenario, ranks, &complaint);
    if (ranks)
        return job_settled(ranks, &check_options, error, false, &complaint, code);
    if (error)
        *code = command_fail(error, &complaint);
    return !error;
}

static int run(struct check_request *request, struct cv_ranks *ranks)
{
    struct cv_complaint complaint = {{0}};
    struct cv_scenario scenario = {0};
    struct cv_check_result result = {0};
    struct progress progress = {.line.started = cv_wall_seconds(), .request = request};
    struct cv_check_options options = request->options;
    options.ranks = searchers(request, ranks);
    if (!options.ranks && !job_tells(ranks))
        return EXIT_HELD;
    int code = EXIT_HELD;
    if (options.ranks && job_tells(ranks))
        cv_ranks_give_up(ranks, &command_interrupted, GIVE_UP_MS, give_up, request);
    if (!settle(request, options.ranks, &scenario, &code)) {
        cv_scenario_free(&scenario);
        return code;
    }
    if (options.ranks)
        rank_file_share_parts(options.ranks, &request->checkpoint);
    options.checkpoint = request->options.checkpoint;
    options.interrupted = &command_interrupted;
    if (options.ranks && !request->has_memory)
        options.memory /= cv_ranks_count(ranks);
    if (job_tells(ranks) && cv_launch_shows()) {
        options.progress = show_progress;
        options.progress_context = &progress;
    }
    int error = check_arrangements(request, &scenario, &options, &result, &complaint);
    command_progress_end(&progress.line);
    if (options.ranks) /* the last word is that of the report */
        cv_ranks_give_up(ranks, NULL, 0, NULL, NULL);
    if (job_tells(ranks)) {
        if (!error)
            error = tell(&(struct check_report){request, &scenario, &result}, &complaint);
        code = error ? command_fail(error, &complaint) : command_exit_code(result.judgement.verdict);
    } else {
        result.trail.decisions = NULL;
    }
    cv_check_free(&result);
    cv_scenario_free(&scenario);
    return code;
}

int command_check(int argc, char **argv)
{
    struct check_request request;
    struct cv_complaint complaint = {{0}};
    int code;
    struct cv_ranks *ranks = job_begin(&code);
    if (!ranks)
        return code;
    int error = check_read(argc, argv, &request, &complaint);
    bool settled = job_settled(ranks, &check_options, error, request.help, &complaint, &code);
    if (settled) {
        const char *algorithm = request.group.words.count ? request.group.words.word[0] : NULL;
        error = job_compare(ranks, &request.group.plan, algorithm, &complaint);
        settled = job_settled(ranks, &check_options, error, false, &complaint, &code);
    }
    if (settled) {
        command_catch_signals();
        cv_guard_every_step();
        code = run(&request, ranks);
    }
    check_free(&request);
    return job_end(ranks, code);
}
