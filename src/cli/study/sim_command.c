// SPDX-License-Identifier: MIT
#include "cli/study/sim_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/job.h"
#include "cli/study/sim_outputs.h"
#include "cli/study/sim_replay.h"
#include "cli/study/sim_runs.h"
#include "core/parse.h"
#include "core/wall_clock.h"
#include "ranks/launch.h"
#include "show/text/report.h"
#include "sim/share/share.h"

static void show_progress(void *context, uint64_t now, uint64_t messages)
{
    struct command_progress *progress = context;
    if (!command_progress_due(progress))
        return;
    command_progress_tell(progress, "time %llu, %.1f million messages, %.1f million a second", (unsigned long long)now,
                          (double)messages / 1e6, (double)messages / 1e6 / (progress->told - progress->started));
}

int sim_simulate(const struct cv_plan *plan, const struct cv_sim_options *options, struct sim_result *result,
                 struct cv_complaint *complaint)
{
    struct cv_sim_options heard = options ? *options : (struct cv_sim_options){0};
    heard.complaint = complaint;
    *result = (struct sim_result){0};
    int error = cv_plan_build(plan, &result->scenario, complaint);
    if (!error)
        error = cv_sim_new(&result->sim, &result->scenario, &heard);
    const double started = cv_wall_seconds();
    if (!error)
        error = cv_sim_run(result->sim, &result->run);
    result->seconds = cv_wall_seconds() - started;
    return error ? error : cv_judge(&result->run, &result->judgement, complaint);
}

void sim_result_free(struct sim_result *result)
{
    cv_sim_free(result->sim);
    cv_scenario_free(&result->scenario);
    free(result->parts);
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
                                     .parts = result->parts,
                                     .part_count = result->part_count,
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

/* A run that cannot be shared is played by one worker. Somebody who asked for more hears why. */
static bool is_shared(const struct sim_request *request, const struct sim_result *result, const struct cv_ranks *ranks)
{
    const char *obstacle = cv_share_obstacle(&result->scenario, sim_outputs_wanted(request));
    if (obstacle && *obstacle && job_tells(ranks) && (request->threads > 1 || cv_ranks_count(ranks) > 1))
        fprintf(stderr, "conclave: one thread of one rank plays this run: %s\n", obstacle);
    return !obstacle;
}

static int keep_parts(struct sim_result *result, const struct cv_share_report *report)
{
    if (report->workers < 2)
        return 0;
    result->parts = calloc(report->workers, sizeof *result->parts);
    if (!result->parts)
        return CV_ENOMEM;
    result->part_count = report->workers;
    for (uint32_t i = 0; i < report->workers; i++) {
        const struct cv_share_part *part = &report->parts[i];
        result->parts[i] = (struct cv_report_part){part->nodes, part->messages, (double)part->waiting_us / 1e6};
    }
    return 0;
}

/* Plays, and judges in the first rank. */
static int play(struct sim_request *request, const struct cv_sim_options *options, struct cv_ranks *ranks,
                struct sim_result *result, struct cv_complaint *complaint)
{
    const bool saved = request->checkpoint.path || request->checkpoint.resume;
    const struct cv_share share = {.ranks = ranks,
                                   .threads = request->threads ? request->threads : 1,
                                   .checkpoint = saved ? &request->checkpoint : NULL};
    struct cv_share_report report = {0};
    if (!is_shared(request, result, ranks) && !job_tells(ranks))
        return 0;
    const double started = cv_wall_seconds();
    int error = cv_share_run(&result->sim, &result->scenario, options, &share, &result->run, &report);
    result->seconds = cv_wall_seconds() - started;
    if (!error)
        error = keep_parts(result, &report);
    if (!error && job_tells(ranks))
        error = cv_judge(&result->run, &result->judgement, complaint);
    free(report.parts);
    return error;
}

/* The first rank reads and writes the checkpoint. Not every run has one. */
static int open_checkpoint(struct sim_request *request, const struct sim_result *result, const struct cv_ranks *ranks,
                           struct cv_complaint *complaint)
{
    struct cv_checkpoint *checkpoint = &request->checkpoint;
    const char *path = checkpoint->path ? checkpoint->path : checkpoint->resume;
    const char *obstacle = cv_share_obstacle(&result->scenario, sim_outputs_wanted(request));
    if (!path)
        return 0;
    if (obstacle)
        return cv_complain(complaint, "--%s %s: this run has no checkpoints: %s",
                           checkpoint->path ? "checkpoint" : "resume", cv_brief(path).text,
                           *obstacle ? obstacle
                                     : "so few nodes are played in no time; expected more than 256, or --runs");
    return job_tells(ranks) ? cv_checkpoint_open(checkpoint, complaint) : 0;
}

/* The last line of a run that was stopped. */
static int tell_interrupted(const struct sim_request *request)
{
    return request->checkpoint.exists ? command_refuse("interrupted; go on: %s", request->go_on)
                                      : command_refuse("interrupted");
}

int sim_run_once(struct sim_request *request, struct cv_ranks *ranks)
{
    struct cv_complaint complaint = {{0}};
    struct sim_result result = {0};
    struct sim_outputs outputs = {0};
    struct command_progress progress = {.started = cv_wall_seconds()};
    struct cv_sim_options options = {.interrupted = &command_interrupted, .complaint = &complaint};
    const bool tells = job_tells(ranks);
    if (tells && cv_launch_shows()) {
        options.progress = show_progress;
        options.progress_context = &progress;
    }
    int error = cv_plan_build(&request->plan, &result.scenario, &complaint), code = EXIT_UNKNOWN;
    if (!error)
        error = open_checkpoint(request, &result, ranks, &complaint);
    if (!error && tells)
        error = sim_outputs_open(&outputs, request, &result.scenario, &complaint);
    options.observer = outputs.observer;
    if (!job_settled(ranks, &sim_options, error, false, &complaint, &code))
        goto out;
    if (!error)
        error = play(request, &options, ranks, &result, &complaint);
    command_progress_end(&progress);
    if (!error && tells)
        error = sim_outputs_finish(&outputs, &result, &complaint);
    if (error == CV_EINTERRUPTED) {
        code = tells ? tell_interrupted(request) : EXIT_UNKNOWN;
    } else if (error == CV_EFILE && request->checkpoint.resume && !*complaint.text) {
        code = tells ? command_refuse("--resume %s: expected a checkpoint of this run", request->checkpoint.resume)
                     : EXIT_UNKNOWN;
    } else if (error && !tells) {
        job_fail(ranks, error);
    } else if (error) {
        code = command_fail(error, &complaint);
    } else if (tells) {
        report(request, &result);
        code = command_exit_code(result.judgement.verdict);
    }
out:
    sim_outputs_close(&outputs);
    sim_result_free(&result);
    cv_checkpoint_close(&request->checkpoint);
    return code;
}

static int carry_out(struct sim_request *request, struct cv_ranks *ranks)
{
    if (request->runs)
        return sim_run_many(request, ranks);
    if (!request->replay)
        return sim_run_once(request, ranks);
    return job_tells(ranks) ? sim_replay(request) : EXIT_HELD;
}

int command_sim(int argc, char **argv)
{
    struct sim_request request;
    struct cv_complaint complaint = {{0}};
    int code;
    struct cv_ranks *ranks = job_begin(&code);
    if (!ranks)
        return code;
    int error = sim_read(argc, argv, &request, &complaint);
    bool settled = job_settled(ranks, &sim_options, error, request.help, &complaint, &code);
    if (settled) {
        const char *algorithm = request.words.count ? request.words.word[0] : NULL;
        error = job_compare(ranks, &request.plan, algorithm, &complaint);
        settled = job_settled(ranks, &sim_options, error, false, &complaint, &code);
    }
    if (settled) {
        command_catch_signals();
        code = carry_out(&request, ranks);
    }
    sim_free(&request);
    return job_end(ranks, code);
}
