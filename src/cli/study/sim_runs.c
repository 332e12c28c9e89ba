// SPDX-License-Identifier: MIT
/* `conclave sim --runs R`: runs the same plan with many seeds. */
#include "cli/study/sim_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/sim_command.h"
#include "show/text/statistics.h"

/* Violated is worse than unfinished, which is worse than held. Among equals, more messages are worse. */
static bool is_worse(const struct cv_survey *survey, const struct sim_result *result)
{
    static const int badness[] = {[CV_HELD] = 0, [CV_UNFINISHED] = 1, [CV_VIOLATED] = 2};
    const int here = badness[result->judgement.verdict], worst = badness[survey->worst_verdict];
    return !survey->runs || here > worst || (here == worst && result->run.total > survey->worst_messages);
}

static int take_in(struct cv_survey *survey, const struct sim_result *result)
{
    if (is_worse(survey, result)) {
        survey->worst_seed = result->scenario.seed;
        survey->worst_verdict = result->judgement.verdict;
        survey->worst_messages = result->run.total;
        memcpy(survey->worst_reason, result->judgement.reason, sizeof survey->worst_reason);
    }
    survey->nodes = result->scenario.group.nodes;
    survey->verdicts[result->judgement.verdict]++;
    survey->seconds += result->seconds;
    survey->runs++;
    if (cv_sample_add(&survey->messages, result->run.total) || cv_sample_add(&survey->time, result->run.time))
        return CV_ENOMEM;
    return result->run.decided == CV_NEVER ? 0 : cv_sample_add(&survey->decided, result->run.decided);
}

static void show_progress(uint64_t done, uint64_t all, time_t started, bool *shown)
{
    if (done % 64 || time(NULL) - started < 2 || !isatty(STDERR_FILENO))
        return;
    *shown = true;
    fprintf(stderr, "\r\033[K%llu of %llu runs", (unsigned long long)done, (unsigned long long)all);
}

int sim_run_many(const struct sim_request *request)
{
    struct cv_complaint complaint = {{0}};
    struct cv_survey survey = {
        .algorithm = request->plan.algorithm, .seed = request->plan.seed, .timed = request->timing};
    const struct cv_sim_options options = {.interrupted = &command_interrupted};
    struct cv_plan plan = request->plan;
    const time_t started = time(NULL);
    bool shown = false, failed = false;
    int error = 0;
    for (uint64_t i = 0; i < request->runs && !error && !failed && !command_interrupted; i++) {
        struct sim_result result;
        plan.seed = request->plan.seed + i;
        error = sim_simulate(&plan, &options, &result, &complaint);
        if (!error && !(command_interrupted && survey.runs))
            error = take_in(&survey, &result);
        failed = !error && result.run.ending == CV_FAILED; /* other seeds say no more about a handler that fails */
        sim_result_free(&result);
        show_progress(i, request->runs, started, &shown);
    }
    if (shown)
        fputs("\r\033[K", stderr);
    int code = EXIT_UNKNOWN;
    char *command = sim_command(request, survey.worst_seed);
    survey.worst_command = command;
    if (error) {
        code = command_fail(error, &complaint);
    } else {
        if (request->json)
            cv_survey_json(stdout, &survey);
        else
            cv_survey_text(stdout, &survey);
        code = command_interrupted ? EXIT_UNKNOWN : command_exit_code(survey.worst_verdict);
    }
    free(command);
    cv_sample_free(&survey.messages);
    cv_sample_free(&survey.time);
    cv_sample_free(&survey.decided);
    return code;
}
