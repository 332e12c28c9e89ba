// SPDX-License-Identifier: MIT
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/fixpoint.h"
#include "check/order_search.h"
#include "check/search/rank_accord.h"
#include "check/shrink.h"
#include "check/state/memory.h"
#include "check/symmetry/counter_test.h"
#include "check/trail.h"
#include "core/scenario/synchronous_run.h"
#include "core/wall_clock.h"
#include "guard/guarded.h"
#include "saved/checkpoint.h"

/* Which search is going on: in a checkpoint. */
struct saved_check {
    uint32_t orders;
    bool reduction;
    bool symmetry;
    bool no_counters;
    bool drop_clocks;
    bool whole; /* the replay did not confirm what a search with reduction had found */
    bool broken_promise;
    char promise[160];
};

struct check {
    struct saved_check saved;
    struct model *model;
    struct search search;
    struct cv_check_result *result;
    struct cv_finding finding; /* the violation, if there is one */
    bool resumed;              /* `saved` comes from a checkpoint */
    double squares;            /* of the numbers of states whose fingerprints had to differ */
};

/* ---- runs that never end ---- */

/* Must every run end? Elections must come to rest; a mutex that claims to serve every request must. */
static bool must_end(const struct setting *setting)
{
    return setting_is_mutex(setting) ? (setting->claims & CV_EVERY_REQUEST) != 0 : true;
}

/* A model without numbers, so that the cycle that is found does not depend on the search before. */
static int begin_again(struct model *model)
{
    const struct cv_scenario *scenario = model->setting.scenario;
    const struct cv_check_options options = model->setting.options;
    model_free(model);
    memset(model, 0, sizeof *model);
    const int error = model_init(model, scenario, &options);
    return error ? error : counter_test_register(model);
}

/* The reduced graph tells whether there is a cycle at all; only the whole graph tells whether a fair run follows it. */
static int check_liveness(struct check *check)
{
    struct search *search = &check->search;
    struct cv_trail *trail = &check->result->trail;
    uint32_t state[MOST_SLOTS];
    int error = 0;
    if (search->reduced)
        error = fixpoint_cycles(search, check->model, true, NULL, NULL);
    if (!error && search->may_cycle && search->end == SEARCH_COMPLETE)
        error = begin_again(check->model);
    if (!error && search->may_cycle && search->end == SEARCH_COMPLETE)
        error = fixpoint_cycles(search, check->model, false, trail, state);
    if (error || !trail->count)
        return error;
    error = judge_end(check->model, state, true, check->model->setting.options.property, &check->finding);
    if (check->finding.verdict != CV_VIOLATED)
        trail->count = 0; /* it violates another property than the one the user asked for */
    return error;
}

/* ---- the judgement ---- */

/* Shortens the counterexample and replays it: the replay says how it violates the property. */
static int tell_trail(struct check *check)
{
    const struct setting *setting = &check->model->setting;
    const char *name = check->finding.name;
    struct cv_trail *trail = &check->result->trail;
    struct cv_finding finding;
    if (shrink_trail(setting->scenario, &setting->options, name, trail))
        return CV_ENOMEM;
    check->result->confirmed = shrink_confirms(setting->scenario, &setting->options, trail, name, &finding);
    if (check->result->confirmed)
        check->finding = finding;
    else if (cv_is_guarded(setting->algorithm) || (setting->scenario->app && cv_is_guarded(setting->scenario->app)))
        snprintf(check->finding.detail, sizeof check->finding.detail,
                 "the replay does not show it: a step does something else when it is taken again");
    return 0;
}

/* A run of the app on a synchronous network. */
struct synchronous {
    const struct cv_scenario *scenario;
    bool chose; /* the app made random choices: there is no one result to compare with */
};

static void run_synchronously(void *context)
{
    struct synchronous *synchronous = context;
    struct cv_lockstep reference;
    synchronous->chose = !cv_lockstep_run(&reference, synchronous->scenario) && reference.chose;
    cv_lockstep_free(&reference);
}

static bool is_random(const struct cv_scenario *scenario)
{
    struct synchronous synchronous = {.scenario = scenario};
    struct cv_failure failure = {.scenario = scenario};
    return scenario->app && cv_trap_call_long(run_synchronously, &synchronous, &failure) && synchronous.chose;
}

static void list_finding(struct check *check, enum cv_property_number property)
{
    const struct setting *setting = &check->model->setting;
    const struct cv_property *row = cv_property(property);
    struct cv_finding *finding = cv_find(&check->result->judgement, property, CV_HELD);
    const bool violated = check->finding.verdict == CV_VIOLATED;
    if (violated && strcmp(check->finding.name, row->name) == 0)
        finding->verdict = CV_VIOLATED;
    else if (row->claim && !(setting->claims & row->claim))
        finding->verdict = CV_DISCLAIMED;
    else if (violated || !check->result->complete)
        finding->verdict = CV_UNFINISHED;
    if (setting->options.property && strcmp(setting->options.property, row->name) != 0) {
        finding->verdict = CV_UNFINISHED;
        snprintf(finding->detail, sizeof finding->detail, "not asked for");
    }
    if (property == CV_PROPERTY_LIKE_SYNCHRONOUS && finding->verdict == CV_HELD && is_random(setting->scenario)) {
        finding->verdict = CV_DISCLAIMED;
        snprintf(finding->detail, sizeof finding->detail, "the app makes random choices");
    }
    if (finding->verdict == CV_VIOLATED)
        memcpy(finding->detail, check->finding.detail, sizeof finding->detail);
}

/* Does the checker judge that property here? A synchronizer is judged by what its app claims, too. */
static bool is_judged(const struct setting *setting, const struct cv_property *row)
{
    if (row->problem == CV_PATHS)
        return row->claim & setting->claims &&
               (row->claim == CV_SHORTEST_PATHS || !(setting->claims & CV_SHORTEST_PATHS));
    return row->problem == setting->algorithm->problem ||
           (setting->scenario->app && row->problem == CV_ELECTION && setting->claims & CV_AGREEMENT);
}

/* A property that nothing here is judged by must not be reported as held. */
static int refuse_foreign(const struct setting *setting, struct cv_complaint *complaint)
{
    const char *asked = setting->options.property;
    char judged[256] = "";
    /* Any algorithm may assert something; a name of no property at all asks for a search that finds nothing. */
    if (!asked || strcmp(asked, cv_property(CV_PROPERTY_INVARIANT)->name) == 0 || !cv_property_is_checked(asked))
        return 0;
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const struct cv_property *row = cv_property((enum cv_property_number)i);
        if (!row->checked || !is_judged(setting, row))
            continue;
        if (strcmp(asked, row->name) == 0)
            return 0;
        const size_t used = strlen(judged);
        snprintf(judged + used, sizeof judged - used, "%s, ", row->name);
    }
    return cv_complain(complaint, "--property %s: %s is not judged by it; expected %sor invariant", asked,
                       setting->algorithm->name, judged);
}

/* Nothing was found, but was anything looked for? What an algorithm disclaims is judged only in part. */
static bool claims_what_was_asked(const struct cv_judgement *judgement, const char *asked)
{
    for (uint32_t i = 0; asked && i < judgement->finding_count; i++)
        if (strcmp(judgement->findings[i].name, asked) == 0)
            return judgement->findings[i].verdict != CV_DISCLAIMED;
    return true;
}

static void list_findings(struct check *check)
{
    struct cv_judgement *judgement = &check->result->judgement;
    const struct setting *setting = &check->model->setting;
    const struct cv_algorithm *algorithm = setting->algorithm;
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const struct cv_property *row = cv_property((enum cv_property_number)i);
        if (row->checked && is_judged(&check->model->setting, row))
            list_finding(check, (enum cv_property_number)i);
    }
    const bool asserted = check->finding.verdict == CV_VIOLATED &&
                          strcmp(check->finding.name, cv_property(CV_PROPERTY_INVARIANT)->name) == 0;
    const bool asked =
        setting->options.property && strcmp(setting->options.property, cv_property(CV_PROPERTY_INVARIANT)->name) == 0;
    if (algorithm->invariant || asserted || asked)
        list_finding(check, CV_PROPERTY_INVARIANT);
    const bool broken = check->result->broken_promise && !setting->options.property;
    if (broken)
        memcpy(cv_find(judgement, CV_PROPERTY_PROMISES, CV_VIOLATED)->detail, check->result->promise,
               sizeof check->result->promise);
    const bool claimed = claims_what_was_asked(judgement, setting->options.property);
    if (!claimed && !check->result->stopped)
        check->result->stopped = "the algorithm does not claim that";
    judgement->verdict = check->finding.verdict == CV_VIOLATED || broken ? CV_VIOLATED
                         : check->result->complete && claimed            ? CV_HELD
                                                                         : CV_UNFINISHED;
}

static const char *why_stopped(enum search_end end)
{
    switch (end) {
    case SEARCH_MEMORY:
        return "memory";
    case SEARCH_DISK:
        return "disk";
    case SEARCH_INTERRUPTED:
        return "interrupted";
    case SEARCH_DEPTH:
        return "depth";
    default:
        return NULL;
    }
}

/* ---- all of it ---- */

static void note_promise(struct cv_check_result *result, const struct model *model)
{
    if (!model->promise_doubted || result->broken_promise)
        return;
    memcpy(result->promise, model->promise_text, sizeof result->promise);
    result->broken_promise = model->promise_broken;
}

static void note_options(struct check *check, const struct cv_check_options *options)
{
    struct saved_check *saved = &check->saved;
    saved->orders = options->orders;
    saved->reduction = options->reduction;
    saved->symmetry = options->symmetry;
    saved->no_counters = options->no_counters;
    saved->drop_clocks = options->drop_clocks;
    saved->broken_promise = check->result->broken_promise;
    memcpy(saved->promise, check->result->promise, sizeof saved->promise);
    cv_checkpoint_note(options->checkpoint, CHECKPOINT_CHECK, saved, sizeof *saved);
}

/*
 * Searches again without a reduction that the algorithm does not allow. Searches again with clocks if there is a
 * violation with requests in a given order: clocks tell whether it is real, and give the shortest counterexample.
 *
 * Synchronizers are searched without reduction. Whether a round begins before its time depends on messages on their
 * way, so the beginning of every round would have to be tried in every order; what is left to save costs more time than
 * it saves. So are bounded delays: all messages get older when time advances.
 */
static int search(struct check *check, const struct cv_scenario *scenario, const struct cv_check_options *options)
{
    struct cv_check_options now = *options;
    now.reduction &= !scenario->app && !now.delay;
    now.symmetry &= !now.delay;
    if (check->resumed) {
        now.orders = check->saved.orders;
        now.reduction = check->saved.reduction;
        now.symmetry = check->saved.symmetry;
        now.no_counters = check->saved.no_counters;
        now.drop_clocks = check->saved.drop_clocks;
    }
    for (;;) {
        note_options(check, &now);
        int error = model_init(check->model, scenario, &now);
        if (!error)
            error = refuse_foreign(&check->model->setting, &check->result->complaint);
        if (!error)
            error = counter_test_register(check->model);
        const bool ordered = check->model->setting.ordered;
        if (!error)
            error = ordered ? order_search_run(check->model, &check->search, &check->squares)
                            : fixpoint_search(&check->search, check->model, now.reduction);
        const enum search_end end = check->search.end;
        const bool again = end == SEARCH_REDUCTION_FAILED ||
                           (ordered && (end == SEARCH_FOUND || check->search.may_cycle)) ||
                           (check->model->promise_doubted && (end == SEARCH_COMPLETE || end == SEARCH_FOUND));
        note_promise(check->result, check->model);
        if (error || !again)
            return error;
        const bool promise_doubted = check->model->promise_doubted;
        if ((end != SEARCH_REDUCTION_FAILED && !promise_doubted) || check->model->reads_clocks)
            now.orders = CV_NO_ORDERS;
        else if (check->model->equal_times_differ)
            now.orders = CV_ALL_ORDERS;
        now.drop_clocks &= !check->model->reads_clocks;
        now.no_counters |= check->model->counters_fail;
        now.symmetry &= !check->model->promise_doubted || check->model->counters_fail;
        now.reduction &= !check->model->leaves_topology;
        search_free(&check->search);
        model_free(check->model);
        memset(check->model, 0, sizeof *check->model);
    }
}

static void note_search(struct check *check)
{
    struct cv_check_result *result = check->result;
    const struct search *search = &check->search;
    const double squares =
        check->model->setting.ordered ? check->squares : (double)search->states * (double)search->states;
    result->states = search->states;
    result->transitions = search->transitions;
    result->ends = search->ends;
    result->depth = search->depth;
    result->bytes = search->bytes;
    result->disk_bytes = search->disk.most;
    result->disk_error = search->end == SEARCH_DISK ? search->disk.error : 0;
    result->reduced = search->reduced;
    result->cyclic = search->may_cycle;
    result->collision = ldexp(squares, check->model->setting.options.wide ? -129 : -65);
    result->complete = search->end == SEARCH_COMPLETE;
    result->stopped = why_stopped(search->end);
    if (search->end == SEARCH_FOUND)
        check->finding = search->spot.finding;
}

/* The way to a violation is on disk, too. */
static int find_trail(struct check *check)
{
    const int error = trail_to_spot(check->model, &check->search, &check->result->trail);
    if (!error || !check->search.disk.error)
        return error;
    return cv_complain(
        &check->result->complaint, "--disk %s: a violation of %s was found, but not how it came about: %s",
        check->model->setting.options.disk, check->search.spot.finding.name, strerror(check->search.disk.error));
}

/* Every rank must be able to write there. */
static int try_disk(const struct cv_check_options *options, struct cv_complaint *complaint)
{
    struct cv_ranks *ranks = options->ranks;
    char where[32] = "";
    if (!options->disk)
        return 0;
    uint64_t reason = (uint64_t)spill_try(options->disk), rank = 0;
    if (ranks) {
        rank = reason ? cv_ranks_own(ranks) : cv_ranks_count(ranks);
        cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &rank, 1);
        if (rank < cv_ranks_count(ranks))
            cv_ranks_broadcast(ranks, (uint32_t)rank, &reason, sizeof reason);
    }
    if (!reason)
        return 0;
    if (rank)
        snprintf(where, sizeof where, "rank %u: ", (uint32_t)rank);
    return cv_complain(complaint, "--disk %s: %s%s; expected a directory to write to", options->disk, where,
                       strerror((int)reason));
}

/* Why a search did not even begin. */
static void complain(struct check *check, const struct cv_scenario *scenario)
{
    struct cv_complaint *complaint = &check->result->complaint;
    if (*complaint->text)
        return;
    if (*check->model->begin_failure)
        cv_complain(complaint, "%s: a node cannot begin: %s", scenario->algorithm->name, check->model->begin_failure);
    else
        cv_complain(complaint, "--resume: the file does not fit this check");
}

/* What follows the search is not shared: the first rank does it. */
static int conclude(struct check *check, int error)
{
    if (check->search.end == SEARCH_COMPLETE && check->search.may_cycle && must_end(&check->model->setting))
        error = check_liveness(check);
    note_search(check);
    if (!error && check->result->trail.count)
        error = tell_trail(check);
    list_findings(check);
    return error;
}

/* All ranks must know whether the check is over, and whether it is repeated. */
static int share_conclusion(struct check *check, struct cv_ranks *ranks, int error)
{
    struct cv_check_result *result = check->result;
    struct {
        int error;
        enum search_end end;
        enum cv_verdict verdict;
        uint64_t decisions;
        bool confirmed;
        bool broken_promise;
        char promise[sizeof result->promise];
    } told = {error,
              check->search.end,
              result->judgement.verdict,
              result->trail.count,
              result->confirmed,
              result->broken_promise,
              {0}};
    memcpy(told.promise, result->promise, sizeof told.promise);
    agree_with_first(ranks, &told, sizeof told);
    if (is_first_rank(ranks))
        return error;
    check->search.end = told.end;
    note_search(check);
    result->judgement.verdict = told.verdict;
    result->trail.count = told.decisions;
    result->confirmed = told.confirmed;
    result->broken_promise = told.broken_promise;
    memcpy(result->promise, told.promise, sizeof result->promise);
    return told.error;
}

static int check_once(const struct cv_scenario *scenario, const struct cv_check_options *options,
                      const struct saved_check *saved, bool resumed, struct cv_check_result *result)
{
    struct check check = {
        .model = calloc(1, sizeof *check.model), .saved = *saved, .resumed = resumed, .result = result};
    *result = (struct cv_check_result){.trail.loop = CV_NEVER, .broken_promise = saved->broken_promise};
    memcpy(result->promise, saved->promise, sizeof result->promise);
    if (!check.model)
        return CV_ENOMEM;
    memory_bound(options->memory);
    int error = search(&check, scenario, options);
    memory_unbound();
    if (!error) {
        if (check.search.end == SEARCH_FOUND)
            error = find_trail(&check);
        search_free(&check.search);
        if (is_first_rank(options->ranks))
            error = conclude(&check, error);
        error = share_conclusion(&check, options->ranks, error);
    } else {
        search_free(&check.search);
        if (error == CV_EINPUT)
            complain(&check, scenario);
    }
    cv_checkpoint_note(options->checkpoint, CHECKPOINT_CHECK, NULL, 0);
    model_free(check.model);
    free(check.model);
    return error;
}

int cv_check_run(const struct cv_scenario *scenario, const struct cv_check_options *options,
                 struct cv_check_result *result)
{
    const double started = cv_wall_seconds();
    struct saved_check saved = {0};
    struct cv_check_options now = *options;
    *result = (struct cv_check_result){.trail.loop = CV_NEVER};
    if (try_disk(options, &result->complaint))
        return CV_EINPUT;
    const bool resumed = cv_checkpoint_recall(options->checkpoint, CHECKPOINT_CHECK, &saved, sizeof saved);
    if (saved.whole)
        now.reduction = now.symmetry = now.drop_clocks = false;
    int error = check_once(scenario, &now, &saved, resumed, result);
    if (!error && result->trail.count && !result->confirmed && now.reduction && !scenario->app && !now.delay) {
        /* The replay does not confirm it: a reduction was wrong about this algorithm. */
        now.reduction = now.symmetry = now.drop_clocks = false;
        saved = (struct saved_check){.whole = true, .broken_promise = result->broken_promise};
        memcpy(saved.promise, result->promise, sizeof saved.promise);
        cv_check_free(result);
        error = check_once(scenario, &now, &saved, false, result);
    }
    result->seconds = cv_wall_seconds() - started;
    return error;
}

void cv_check_free(struct cv_check_result *result)
{
    free(result->trail.decisions);
    *result = (struct cv_check_result){0};
}
