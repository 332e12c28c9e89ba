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

#define VERDICTS 3u

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

/* ---- checkpoints ---- */

static void save_sample(struct file_writer *writer, const struct cv_sample *sample)
{
    file_write_number(writer, sample->count);
    file_write(writer, sample->values, sample->count * sizeof *sample->values);
}

static bool restore_sample(struct file_reader *reader, struct cv_sample *sample)
{
    const uint64_t count = file_read_number(reader);
    if (count > file_reader_left(reader) / sizeof *sample->values)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (cv_sample_add(sample, file_read_number(reader)))
            return false;
    return true;
}

static void save(void *context, struct file_writer *writer)
{
    const struct cv_survey *survey = &((const struct runs *)context)->survey;
    file_write_number(writer, survey->nodes);
    file_write_number(writer, survey->runs);
    for (uint32_t i = 0; i < VERDICTS; i++)
        file_write_number(writer, survey->verdicts[i]);
    file_write_number(writer, survey->worst_seed);
    file_write_number(writer, survey->worst_messages);
    file_write_number(writer, survey->worst_verdict);
    file_write(writer, survey->worst_reason, sizeof survey->worst_reason);
    file_write(writer, &survey->seconds, sizeof survey->seconds);
    save_sample(writer, &survey->messages);
    save_sample(writer, &survey->time);
    save_sample(writer, &survey->decided);
}

static bool restore(void *context, struct file_reader *reader)
{
    struct cv_survey *survey = &((struct runs *)context)->survey;
    uint64_t sum = 0;
    survey->nodes = (uint32_t)file_read_number(reader);
    survey->runs = file_read_number(reader);
    for (uint32_t i = 0; i < VERDICTS; i++)
        sum += survey->verdicts[i] = file_read_number(reader);
    survey->worst_seed = file_read_number(reader);
    survey->worst_messages = file_read_number(reader);
    const uint64_t verdict = file_read_number(reader);
    survey->worst_verdict = verdict < VERDICTS ? (enum cv_verdict)verdict : CV_HELD;
    file_read(reader, survey->worst_reason, sizeof survey->worst_reason);
    survey->worst_reason[sizeof survey->worst_reason - 1] = '\0';
    file_read(reader, &survey->seconds, sizeof survey->seconds);
    return restore_sample(reader, &survey->messages) && restore_sample(reader, &survey->time) &&
           restore_sample(reader, &survey->decided) && verdict < VERDICTS && sum == survey->runs &&
           survey->messages.count == sum && survey->time.count == sum && survey->decided.count <= sum;
}

/* ---- the command ---- */

/* The last line of a sweep that was stopped. */
static int tell_interrupted(const struct runs *runs)
{
    const struct sim_request *request = runs->request;
    const char *then = request->checkpoint.exists ? "; go on: " : "", *command = *then ? request->go_on : "";
    if (!runs->survey.runs)
        return command_refuse("interrupted before the first run ended%s%s", then, command);
    return command_refuse("interrupted: %llu of %llu runs are in the table%s%s", (unsigned long long)runs->survey.runs,
                          (unsigned long long)request->runs, then, command);
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
        return tell_interrupted(runs);
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
    return tell_interrupted(runs);
}

/* The first rank alone reads and writes the checkpoint. */
static bool open_checkpoint(const struct sweep *sweep, struct cv_ranks *ranks, int *code)
{
    struct cv_complaint complaint = {{0}};
    const int error = sweep->saved ? sweep_saved_open(sweep->saved, sweep->count, &complaint) : 0;
    return job_settled(ranks, &sim_options, error, false, &complaint, code);
}

int sim_run_many(struct sim_request *request, struct cv_ranks *ranks)
{
    struct runs runs = {
        .request = request,
        .survey = {.algorithm = request->plan.algorithm, .seed = request->plan.seed, .timed = request->timing}};
    struct sweep_saved saved = {.checkpoint = &request->checkpoint, .context = &runs, .save = save, .restore = restore};
    const bool saves = request->checkpoint.path || request->checkpoint.resume;
    const struct sweep sweep = {.count = request->runs,
                                .threads = request->threads,
                                .unit = "runs",
                                .context = &runs,
                                .compute = compute,
                                .take = take,
                                .saved = saves && job_tells(ranks) ? &saved : NULL};
    int code = EXIT_HELD;
    if (open_checkpoint(&sweep, ranks, &code)) {
        const int error = sweep_run(&sweep, ranks);
        if (error && !job_tells(ranks))
            job_fail(ranks, error);
        if (error)
            runs.error = error;
        code = job_tells(ranks) ? report(&runs, sweep_width(&sweep, ranks)) : EXIT_HELD;
    }
    sweep_saved_close(&saved);
    cv_sample_free(&runs.survey.messages);
    cv_sample_free(&runs.survey.time);
    cv_sample_free(&runs.survey.decided);
    return code;
}
