// SPDX-License-Identifier: MIT
/* `conclave sim --runs R`: runs the same plan with many seeds. */
#include "cli/study/sim_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/job.h"
#include "cli/study/sim_command.h"
#include "cli/study/sweep.h"
#include "show/text/statistics.h"

/* What the table needs of a run. A text follows: the complaint, or the reason of the verdict. */
struct outcome {
    int32_t error;
    uint32_t verdict;
    uint32_t nodes;
    uint32_t failed; /* a handler has */
    uint32_t cut;    /* the run was stopped, and its end is not known */
    uint32_t unused;
    uint64_t messages, time, decided;
    double seconds;
};

struct runs {
    const struct sim_request *request;
    struct cv_survey survey;
    struct cv_complaint complaint;
    int error;
};

static void compute(void *context, uint64_t task, const volatile sig_atomic_t *halted, struct sweep_bytes *bytes)
{
    const struct runs *runs = context;
    const struct cv_sim_options options = {.interrupted = halted};
    struct cv_complaint complaint = {{0}};
    struct cv_plan plan = runs->request->plan;
    struct sim_result result;
    plan.seed += task;
    errno = 0;
    const int error = sim_simulate(&plan, &options, &result, &complaint);
    const struct outcome outcome = {.error = error && errno == ENOMEM ? CV_ENOMEM : error,
                                    .verdict = result.judgement.verdict,
                                    .nodes = result.scenario.group.nodes,
                                    .failed = result.run.ending == CV_FAILED,
                                    .cut = __atomic_load_n(halted, __ATOMIC_RELAXED) != 0,
                                    .messages = result.run.total,
                                    .time = result.run.time,
                                    .decided = result.run.decided,
                                    .seconds = result.seconds};
    sweep_put(bytes, &outcome, sizeof outcome);
    sweep_put_text(bytes, error ? complaint.text : result.judgement.reason);
    sim_result_free(&result);
}

/* Violated is worse than unfinished, which is worse than held. Among equals, more messages are worse. */
static bool is_worse(const struct cv_survey *survey, const struct outcome *outcome)
{
    static const int badness[] = {[CV_HELD] = 0, [CV_UNFINISHED] = 1, [CV_VIOLATED] = 2};
    const int here = badness[outcome->verdict], worst = badness[survey->worst_verdict];
    return !survey->runs || here > worst || (here == worst && outcome->messages > survey->worst_messages);
}

static int take_in(struct cv_survey *survey, uint64_t seed, const struct outcome *outcome, const char *reason)
{
    if (is_worse(survey, outcome)) {
        survey->worst_seed = seed;
        survey->worst_verdict = outcome->verdict;
        survey->worst_messages = outcome->messages;
        snprintf(survey->worst_reason, sizeof survey->worst_reason, "%s", reason);
    }
    survey->nodes = outcome->nodes;
    survey->verdicts[outcome->verdict]++;
    survey->seconds += outcome->seconds;
    survey->runs++;
    if (cv_sample_add(&survey->messages, outcome->messages) || cv_sample_add(&survey->time, outcome->time))
        return CV_ENOMEM;
    return outcome->decided == CV_NEVER ? 0 : cv_sample_add(&survey->decided, outcome->decided);
}

/* A run that was stopped counts only if it is the first. */
static bool take(void *context, uint64_t task, struct sweep_reader *reader)
{
    struct runs *runs = context;
    struct outcome outcome;
    sweep_get(reader, &outcome, sizeof outcome);
    const char *text = sweep_get_text(reader);
    if (!outcome.error && outcome.cut && runs->survey.runs)
        return false;
    runs->error = outcome.error;
    if (outcome.error)
        snprintf(runs->complaint.text, sizeof runs->complaint.text, "%s", text);
    else
        runs->error = take_in(&runs->survey, runs->request->plan.seed + task, &outcome, text);
    return !runs->error && !outcome.cut && !outcome.failed; /* other seeds say no more about a handler that fails */
}

static int report(struct runs *runs, uint64_t at_once)
{
    const struct sim_request *request = runs->request;
    struct cv_survey *survey = &runs->survey;
    if (runs->error == CV_ENOMEM && at_once > 1)
        return command_refuse("out of memory with %llu runs at once; expected fewer --threads or ranks, or more memory",
                              (unsigned long long)at_once);
    if (runs->error)
        return command_fail(runs->error, &runs->complaint);
    if (!survey->runs)
        return command_refuse("interrupted before the first run ended");
    char *command = sim_command(request, survey->worst_seed);
    survey->worst_command = command;
    if (request->json)
        cv_survey_json(stdout, survey);
    else
        cv_survey_text(stdout, survey);
    free(command);
    if (!command_interrupted)
        return command_exit_code(survey->worst_verdict);
    fflush(stdout);
    return command_refuse("interrupted: %llu of %llu runs are in the table", (unsigned long long)survey->runs,
                          (unsigned long long)request->runs);
}

int sim_run_many(const struct sim_request *request, struct cv_ranks *ranks)
{
    struct runs runs = {
        .request = request,
        .survey = {.algorithm = request->plan.algorithm, .seed = request->plan.seed, .timed = request->timing}};
    const struct sweep sweep = {.count = request->runs,
                                .threads = request->threads,
                                .unit = "runs",
                                .context = &runs,
                                .compute = compute,
                                .take = take};
    const int error = sweep_run(&sweep, ranks);
    if (error && !job_tells(ranks))
        job_fail(ranks, error);
    if (error)
        runs.error = error;
    const int code = job_tells(ranks) ? report(&runs, sweep_width(&sweep, ranks)) : EXIT_HELD;
    cv_sample_free(&runs.survey.messages);
    cv_sample_free(&runs.survey.time);
    cv_sample_free(&runs.survey.decided);
    return code;
}
