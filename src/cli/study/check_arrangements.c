// SPDX-License-Identifier: MIT
/* Checks every arrangement of ids and sums up the results. */
#include "cli/study/check_arrangements.h"

#include <stdio.h>
#include <string.h>

#include "check/arrangement.h"
#include "cli/command.h"
#include "ranks/ranks.h"

/* Is the arrangement free? --ids, a file of edges, and attributes each fix it. */
static bool is_free(const struct check_request *request)
{
    const struct cv_plan *plan = &request->group.plan;
    return !plan->ids && !plan->attributes && !plan->graph_text;
}

static void write_ids(const struct cv_arrangement *arrangement, char *text, size_t size)
{
    size_t used = 0;
    for (cv_node node = 0; node < arrangement->nodes; node++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", node ? "," : "", arrangement->ids[node]);
}

static enum cv_verdict worse(enum cv_verdict one, enum cv_verdict other)
{
    if (one == CV_VIOLATED || other == CV_VIOLATED)
        return CV_VIOLATED;
    return one == CV_UNFINISHED ? one : other;
}

/* The results of the arrangements before the current one: in a checkpoint. */
struct saved_arrangements {
    uint64_t arrangement;
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;
    uint64_t bytes;
    uint64_t disk_bytes;
    double collision;
    uint32_t depth;
    bool reduced;
    bool cyclic;
    bool complete;
    char stopped[64]; /* "": nothing stopped them */
    enum cv_verdict verdict;
    enum cv_verdict findings[CV_MAX_FINDINGS];
    uint32_t finding_count;
};

static void keep(struct saved_arrangements *saved, const struct cv_check_result *sum, uint64_t arrangement)
{
    memset(saved, 0, sizeof *saved);
    saved->arrangement = arrangement;
    saved->states = sum->states;
    saved->transitions = sum->transitions;
    saved->ends = sum->ends;
    saved->bytes = sum->bytes;
    saved->disk_bytes = sum->disk_bytes;
    saved->collision = sum->collision;
    saved->depth = sum->depth;
    saved->reduced = sum->reduced;
    saved->cyclic = sum->cyclic;
    saved->complete = sum->complete;
    snprintf(saved->stopped, sizeof saved->stopped, "%s", sum->stopped ? sum->stopped : "");
    saved->verdict = sum->judgement.verdict;
    saved->finding_count = sum->judgement.finding_count;
    for (uint32_t i = 0; i < saved->finding_count; i++)
        saved->findings[i] = sum->judgement.findings[i].verdict;
}

/* As much of a result as add_up() needs. */
static void restore(struct check_request *request, const struct saved_arrangements *saved, struct cv_check_result *sum)
{
    snprintf(request->stopped, sizeof request->stopped, "%.63s", saved->stopped);
    *sum = (struct cv_check_result){.states = saved->states,
                                    .transitions = saved->transitions,
                                    .ends = saved->ends,
                                    .bytes = saved->bytes,
                                    .disk_bytes = saved->disk_bytes,
                                    .collision = saved->collision,
                                    .depth = saved->depth,
                                    .reduced = saved->reduced,
                                    .cyclic = saved->cyclic,
                                    .complete = saved->complete,
                                    .stopped = *request->stopped ? request->stopped : NULL,
                                    .judgement.verdict = saved->verdict};
    sum->judgement.finding_count = saved->finding_count < CV_MAX_FINDINGS ? saved->finding_count : CV_MAX_FINDINGS;
    for (uint32_t i = 0; i < sum->judgement.finding_count; i++)
        sum->judgement.findings[i].verdict = saved->findings[i];
}

/* Adds the result of another arrangement. */
static void add_up(struct cv_check_result *sum, struct cv_check_result *result)
{
    const struct cv_check_result before = *sum;
    *sum = *result;
    sum->states += before.states;
    sum->transitions += before.transitions;
    sum->ends += before.ends;
    sum->seconds += before.seconds;
    sum->collision += before.collision;
    sum->depth = before.depth > sum->depth ? before.depth : sum->depth;
    sum->bytes = before.bytes > sum->bytes ? before.bytes : sum->bytes;
    sum->disk_bytes = before.disk_bytes > sum->disk_bytes ? before.disk_bytes : sum->disk_bytes;
    sum->disk_error = before.disk_error ? before.disk_error : sum->disk_error;
    sum->reduced |= before.reduced;
    sum->cyclic |= before.cyclic;
    sum->complete &= before.complete;
    sum->stopped = before.stopped ? before.stopped : sum->stopped;
    sum->judgement.verdict = worse(before.judgement.verdict, sum->judgement.verdict);
    for (uint32_t i = 0; i < sum->judgement.finding_count && i < before.judgement.finding_count; i++)
        sum->judgement.findings[i].verdict =
            worse(before.judgement.findings[i].verdict, sum->judgement.findings[i].verdict);
}

static int check_one(struct check_request *request, struct cv_scenario *scenario, struct cv_check_options *options,
                     struct cv_check_result *sum, struct cv_complaint *complaint)
{
    struct cv_check_result result = {0};
    int error = check_settle(request, scenario, complaint);
    if (error)
        return error;
    options->callers = request->options.callers;
    options->inside = request->options.inside;
    options->cuts = request->options.cuts;
    options->may_be_cut = request->options.may_be_cut;
    error = cv_check_run(scenario, options, &result);
    if (error) {
        if (error == CV_EINPUT && *result.complaint.text)
            *complaint = result.complaint;
        cv_check_free(&result);
        return error;
    }
    if (request->arrangement == 1)
        *sum = result;
    else
        add_up(sum, &result);
    return 0;
}

/* Some arrangements were not checked, so no property is known to hold. */
static void break_off(struct cv_check_result *result)
{
    struct cv_judgement *judgement = &result->judgement;
    result->complete = false;
    result->stopped = "interrupted";
    judgement->verdict = CV_UNFINISHED;
    for (uint32_t i = 0; i < judgement->finding_count; i++)
        if (judgement->findings[i].verdict == CV_HELD)
            judgement->findings[i].verdict = CV_UNFINISHED;
}

/* Makes the scenario of the current arrangement. */
static int rearrange(struct check_request *request, const struct cv_arrangement *arrangement,
                     struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    write_ids(arrangement, request->ids, sizeof request->ids);
    request->group.plan.ids = request->ids;
    cv_scenario_free(scenario);
    *scenario = (struct cv_scenario){0};
    return cv_plan_build(&request->group.plan, scenario, complaint);
}

/* Goes on with the arrangement of a checkpoint. */
static int recall(struct check_request *request, struct cv_arrangement *arrangement, struct saved_arrangements *saved,
                  struct cv_scenario *scenario, struct cv_check_result *result, struct cv_complaint *complaint)
{
    if (!cv_checkpoint_recall(request->options.checkpoint, CHECKPOINT_ARRANGEMENTS, saved, sizeof *saved))
        return 0;
    for (; request->arrangement < saved->arrangement; request->arrangement++)
        if (!cv_arrangement_next(arrangement))
            return cv_complain(complaint, "--resume %s: it has more arrangements than this check",
                               request->checkpoint.resume);
    restore(request, saved, result);
    cv_checkpoint_note(request->options.checkpoint, CHECKPOINT_ARRANGEMENTS, saved, sizeof *saved);
    return rearrange(request, arrangement, scenario, complaint);
}

int check_arrangements(struct check_request *request, struct cv_scenario *scenario,
                       const struct cv_check_options *options, struct cv_check_result *result,
                       struct cv_complaint *complaint)
{
    struct cv_check_options now = *options;
    struct cv_ranks *ranks = now.ranks;
    struct cv_arrangement arrangement = {.count = 1};
    struct saved_arrangements saved;
    int error = check_fits(request, scenario, complaint);
    const bool free = !error && is_free(request);
    if (free)
        cv_arrangement_first(&arrangement, scenario);
    request->arrangement_count = arrangement.count;
    request->arrangement = 1;
    if (!error)
        error = recall(request, &arrangement, &saved, scenario, result, complaint);
    for (; !error; request->arrangement++) {
        error = check_one(request, scenario, &now, result, complaint);
        if (error || result->judgement.verdict == CV_VIOLATED || !free || !cv_arrangement_next(&arrangement))
            return error;
        const bool searched = !result->stopped || strcmp(result->stopped, "interrupted") != 0;
        if (searched) {
            keep(&saved, result, request->arrangement + 1);
            cv_checkpoint_note(now.checkpoint, CHECKPOINT_ARRANGEMENTS, &saved, sizeof saved);
        }
        bool interrupted = command_interrupted;
        if (ranks)
            cv_ranks_broadcast(ranks, 0, &interrupted, sizeof interrupted);
        if (interrupted) {
            if (searched && request->checkpoint.path) /* otherwise the search has written one */
                cv_checkpoint_write(now.checkpoint, NULL, NULL);
            break_off(result);
            return 0;
        }
        error = rearrange(request, &arrangement, scenario, complaint);
    }
    return error;
}
