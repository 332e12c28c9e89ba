// SPDX-License-Identifier: MIT
/* Checks every arrangement of ids and sums up the results. */
#include "cli/study/check_arrangements.h"

#include <stdio.h>
#include <string.h>

#include "check/arrangement.h"
#include "cli/command.h"
#include "cli/study/check_deal.h"
#include "core/wall_clock.h"
#include "ranks/ranks.h"

#define SMALL_CHECK 1000000u    /* states; larger ones are shared */
#define STATES_AT_ONCE 4000000u /* of each thread and rank, before everybody meets */
#define MOST_AT_ONCE 256u

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

/* Names nodes by the ids of this scenario. */
static int settle(struct check_request *request, const struct cv_scenario *scenario, struct cv_check_options *options,
                  struct cv_complaint *complaint)
{
    const int error = check_settle(request, scenario, complaint);
    options->callers = request->options.callers;
    options->inside = request->options.inside;
    options->cuts = request->options.cuts;
    options->may_be_cut = request->options.may_be_cut;
    return error;
}

static int check_one(struct check_request *request, struct cv_scenario *scenario, struct cv_check_options *options,
                     struct cv_check_result *sum, struct cv_complaint *complaint)
{
    struct cv_check_result result = {0};
    int error = settle(request, scenario, options, complaint);
    if (error)
        return error;
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

/* ---- side by side ---- */

struct dealer {
    struct check_request *request;
    const struct cv_check_options *options;
    struct cv_complaint *complaint;
    struct cv_arrangement *arrangements;
};

static uint32_t ranks_of(const struct cv_check_options *options)
{
    return options->ranks ? cv_ranks_count(options->ranks) : 1;
}

/* Does it pay to give every thread arrangements of its own, after these? */
static bool may_deal(const struct check_request *request, const struct cv_check_options *options,
                     const struct cv_check_result *sum)
{
    return ranks_of(options) * options->threads > 1 && !options->disk && sum->complete &&
           sum->judgement.verdict == CV_HELD && sum->states / request->arrangement < SMALL_CHECK;
}

static int prepare(void *context, uint32_t number, struct cv_scenario *scenario, struct cv_check_options *options)
{
    const struct dealer *dealer = context;
    *options = *dealer->options;
    options->threads = 1;
    options->ranks = NULL;
    options->progress = NULL;
    options->checkpoint = NULL;
    const int error = rearrange(dealer->request, &dealer->arrangements[number], scenario, dealer->complaint);
    return error ? error : settle(dealer->request, scenario, options, dealer->complaint);
}

/* Did it hold, and claim what the others claim? */
static bool is_like(const struct dealt_result *dealt, const struct cv_judgement *judgement)
{
    bool same = dealt->held && dealt->finding_count == judgement->finding_count;
    for (uint32_t i = 0; same && i < dealt->finding_count; i++)
        same = dealt->findings[i] == judgement->findings[i].verdict;
    return same;
}

static void add_dealt(struct cv_check_result *sum, const struct dealt_result *dealt, uint32_t workers)
{
    sum->states += dealt->states;
    sum->transitions += dealt->transitions;
    sum->ends += dealt->ends;
    sum->collision += dealt->collision;
    sum->depth = dealt->depth > sum->depth ? dealt->depth : sum->depth;
    sum->bytes = dealt->bytes * workers > sum->bytes ? dealt->bytes * workers : sum->bytes;
    sum->reduced |= dealt->reduced;
    sum->cyclic |= dealt->cyclic;
}

/* The arrangements that follow, the first of which is this one. */
static uint32_t list_arrangements(const struct cv_arrangement *first, struct cv_arrangement *list, uint32_t most)
{
    uint32_t count = 0;
    struct cv_arrangement it = *first;
    do
        list[count++] = it;
    while (count < most && cv_arrangement_next(&it));
    return count;
}

/*
 * Checks the next arrangements, each by one thread of one rank. `arrangement` becomes the first that is not checked, or
 * has to be checked by all, as `stuck` says. `done`: there is none, and it is the last.
 */
static int deal_out(struct check_request *request, const struct cv_check_options *options,
                    struct cv_arrangement *arrangement, struct cv_check_result *sum, bool *done, bool *stuck,
                    struct cv_complaint *complaint)
{
    const double started = cv_wall_seconds();
    struct cv_arrangement arrangements[MOST_AT_ONCE];
    struct dealt_result results[MOST_AT_ONCE];
    struct dealer dealer = {request, options, complaint, arrangements};
    const uint32_t workers = ranks_of(options) * options->threads;
    const uint64_t wanted = workers * (1 + STATES_AT_ONCE / (1 + sum->states / request->arrangement));
    const uint32_t count =
        list_arrangements(arrangement, arrangements, wanted < MOST_AT_ONCE ? (uint32_t)wanted : MOST_AT_ONCE);
    const struct deal deal = {count, options->threads, options->ranks, prepare, &dealer};
    const int error = check_deal(&deal, results);
    uint32_t added = 0;
    while (!error && added < count && is_like(&results[added], &sum->judgement))
        added++;
    if (options->ranks) /* the first rank alone knows the findings */
        cv_ranks_broadcast(options->ranks, 0, &added, sizeof added);
    for (uint32_t i = 0; i < added; i++)
        add_dealt(sum, &results[i], workers);
    request->arrangement += added;
    sum->seconds += cv_wall_seconds() - started;
    *arrangement = arrangements[added < count ? added : count - 1];
    *done = added == count && !cv_arrangement_next(arrangement);
    *stuck = added < count;
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct cv_check_progress){
                              .states = sum->states, .bytes = sum->bytes, .depth = sum->depth, .phase = "searching"});
    return error;
}

int check_arrangements(struct check_request *request, struct cv_scenario *scenario,
                       const struct cv_check_options *options, struct cv_check_result *result,
                       struct cv_complaint *complaint)
{
    struct cv_check_options now = *options;
    struct cv_ranks *ranks = now.ranks;
    const bool is_first = !ranks || cv_ranks_own(ranks) == 0;
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
        bool interrupted = command_interrupted || !searched;
        if (ranks)
            cv_ranks_broadcast(ranks, 0, &interrupted, sizeof interrupted);
        if (interrupted) {
            if (searched && request->checkpoint.path && is_first) /* otherwise the search has written one */
                cv_checkpoint_write(now.checkpoint, NULL, NULL);
            break_off(result);
            return 0;
        }
        bool done = false, stuck = false;
        while (!stuck && may_deal(request, &now, result)) {
            error = deal_out(request, &now, &arrangement, result, &done, &stuck, complaint);
            if (error || done) /* a checkpoint says which arrangement is next */
                break;
            keep(&saved, result, request->arrangement + 1);
            if (is_first && cv_checkpoint_is_due(now.checkpoint))
                cv_checkpoint_write(now.checkpoint, NULL, NULL);
        }
        if (!error)
            error = rearrange(request, &arrangement, scenario, complaint);
        if (done)
            return error;
    }
    return error;
}
