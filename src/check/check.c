// SPDX-License-Identifier: MIT
#include "check/check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/alike.h"
#include "check/shrink.h"
#include "check/trail.h"

struct check {
    struct model *model;
    struct search search;
    struct cv_check_result *result;
    struct cv_finding finding; /* what was violated, if anything was */
    double squares;            /* of the numbers of states that had to differ in their fingerprints */
};

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- runs that never end ---- */

/* Is it promised that they do not? Elections must come to rest; who promises to serve everybody must. */
static bool liveness_matters(const struct setting *setting)
{
    return is_mutex(setting) ? (setting->claims & CV_EVERY_REQUEST) != 0 : true;
}

static int look_for_cycles(struct check *check, bool reduction, bool *cyclic)
{
    struct cv_check_result *result = check->result;
    const struct cv_check_options *options = &check->model->setting.options;
    struct graph graph;
    struct lasso lasso = {0};
    uint32_t state[MOST_PARTS];
    int error = graph_build(&graph, check->model, reduction);
    if (graph.bytes > result->bytes)
        result->bytes = graph.bytes;
    if (!error && graph.too_large) {
        result->complete = false;
        result->stopped = "memory";
        if (options->interrupted && *options->interrupted)
            result->stopped = "interrupted";
    } else if (!error) {
        error = cycle_find(&graph, is_mutex(&check->model->setting), &lasso, cyclic);
    }
    if (!error && lasso.count && !reduction) {
        error = trail_along(check->model, &graph, &lasso, &result->trail, state);
        if (!error)
            error = judge_end(check->model, state, true, options->property, &check->finding);
        if (check->finding.verdict != CV_VIOLATED)
            result->trail.count = 0; /* it breaks another promise than the one asked about */
    }
    lasso_free(&lasso);
    graph_free(&graph);
    return error;
}

/* Leaving out orders keeps whether there is a cycle at all; whether it is fair is asked of the whole graph. */
static int check_liveness(struct check *check)
{
    bool cyclic = true;
    int error = 0;
    if (check->search.reduced)
        error = look_for_cycles(check, true, &cyclic);
    if (!error && cyclic && check->result->complete)
        error = look_for_cycles(check, false, &cyclic);
    check->result->cyclic = cyclic;
    return error;
}

/* ---- the judgement ---- */

/* Shortens the counterexample and has its replay say how it goes wrong. */
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
    return 0;
}

static void list_finding(struct check *check, const char *name, const char *kind, uint32_t claim)
{
    const struct setting *setting = &check->model->setting;
    struct cv_finding *finding = cv_find(&check->result->judgement, name, kind, CV_HELD);
    const bool violated = check->finding.verdict == CV_VIOLATED;
    if (violated && strcmp(check->finding.name, name) == 0)
        *finding = (struct cv_finding){name, kind, CV_VIOLATED, ""};
    else if (claim && !(setting->claims & claim))
        finding->verdict = CV_DISCLAIMED;
    else if (violated || !check->result->complete)
        finding->verdict = CV_UNFINISHED;
    if (setting->options.property && strcmp(setting->options.property, name) != 0)
        finding->verdict = CV_UNFINISHED;
    if (finding->verdict == CV_VIOLATED)
        memcpy(finding->detail, check->finding.detail, sizeof finding->detail);
}

static void list_findings(struct check *check)
{
    struct cv_judgement *judgement = &check->result->judgement;
    if (is_mutex(&check->model->setting)) {
        list_finding(check, "exclusion", "always", CV_EXCLUSION);
        list_finding(check, "fences-rise", "always", CV_FENCES_RISE);
        list_finding(check, "no-deadlock", "always", CV_NO_DEADLOCK);
        list_finding(check, "every-request", "eventually", CV_EVERY_REQUEST);
    } else {
        list_finding(check, "agreement", "always", CV_AGREEMENT);
        list_finding(check, "best-wins", "always", CV_BEST_WINS);
        list_finding(check, "everyone-learns", "eventually", CV_EVERYONE_LEARNS);
        list_finding(check, "comes-to-rest", "eventually", 0);
        list_finding(check, "any-caller", "always", CV_ANY_CALLER);
        list_finding(check, "one-election", "always", CV_ONE_CALL);
    }
    const bool asserted = check->finding.verdict == CV_VIOLATED && strcmp(check->finding.name, "invariant") == 0;
    if (check->model->setting.algorithm->invariant || asserted)
        list_finding(check, "invariant", "always", 0);
    judgement->verdict = check->finding.verdict == CV_VIOLATED ? CV_VIOLATED
                         : check->result->complete             ? CV_HELD
                                                               : CV_UNFINISHED;
}

static const char *why_stopped(enum search_end end)
{
    switch (end) {
    case SEARCH_MEMORY:
        return "memory";
    case SEARCH_INTERRUPTED:
        return "interrupted";
    case SEARCH_DEPTH:
        return "depth";
    default:
        return NULL;
    }
}

/* ---- all of it ---- */

#define FIRST_PATIENCE 10000u

/*
 * What nodes will do is judged by what they were seen to do; so until a search shows nothing new: once more. While much
 * is new it is not worth while to go on for long.
 */
static int search_settled(struct check *check, bool reduction)
{
    struct search *search = &check->search;
    for (uint64_t patience = FIRST_PATIENCE;; patience *= 2) {
        check->model->habits.learnt = false;
        const int error = search_run(search, check->model, reduction, patience);
        const bool complete = search->end == SEARCH_COMPLETE && (!search->reduced || !check->model->habits.learnt);
        if (error || complete || (search->end != SEARCH_COMPLETE && search->end != SEARCH_LEARNT))
            return error;
        search_free(search);
    }
}

/* Orders of requests, which several threads take in turn: each is searched by one, with a model of its own. */
struct turns {
    struct check *check;
    struct order order; /* the next */
    bool more;
    struct search sum; /* of those that are done; its end is what stopped it, if anything did */
    int error;
    uint32_t threads;
    pthread_t teller; /* that shows progress */
    pthread_mutex_t lock;
};

/* A model of the next order; false if there is none, or no need for it. */
static bool take_turn(struct turns *turns, struct model *model, const struct cv_check_options *options)
{
    pthread_mutex_lock(&turns->lock);
    const struct order order = turns->order;
    const uint64_t before = turns->sum.states;
    const bool mine = turns->more && !turns->error && turns->sum.end == SEARCH_COMPLETE && !turns->sum.may_cycle;
    if (mine)
        turns->more = alike_next(&turns->check->model->setting, &turns->order);
    pthread_mutex_unlock(&turns->lock);
    if (!mine)
        return false;
    memset(model, 0, sizeof *model);
    const int error = model_init(model, turns->check->model->setting.scenario, options);
    model->setting.order = order;
    model->before = before;
    model->out_of_memory |= error != 0;
    return true;
}

/* Adds up; what is wrong, or may be, is kept. */
static void finish_turn(struct turns *turns, const struct check *mine, int error)
{
    struct search *sum = &turns->sum;
    const struct search *search = &mine->search;
    struct model *model = turns->check->model;
    pthread_mutex_lock(&turns->lock);
    turns->error |= error;
    if (sum->end == SEARCH_COMPLETE)
        sum->end = search->end;
    sum->states += search->states;
    sum->transitions += search->transitions;
    sum->ends += search->ends;
    sum->bytes = search->bytes * turns->threads > sum->bytes ? search->bytes * turns->threads : sum->bytes;
    sum->depth = search->depth > sum->depth ? search->depth : sum->depth;
    sum->reduced |= search->reduced;
    sum->may_cycle |= search->may_cycle;
    turns->check->squares += (double)search->states * (double)search->states;
    model->timely |= mine->model->timely;
    model->tied |= mine->model->tied;
    model->strayed |= mine->model->strayed;
    pthread_mutex_unlock(&turns->lock);
}

/* Searches an order, and its cycles if there may be any. */
static int search_order(struct check *mine, bool reduction)
{
    bool cyclic = false;
    int error = search_settled(mine, reduction);
    search_free(&mine->search);
    if (!error && mine->search.end == SEARCH_COMPLETE && mine->search.may_cycle)
        error = look_for_cycles(mine, reduction, &cyclic);
    if (mine->result->stopped)
        mine->search.end = strcmp(mine->result->stopped, "memory") == 0 ? SEARCH_MEMORY : SEARCH_INTERRUPTED;
    if (mine->result->bytes > mine->search.bytes)
        mine->search.bytes = mine->result->bytes;
    mine->search.may_cycle = cyclic;
    return error;
}

static void *take_turns(void *argument)
{
    struct turns *turns = argument;
    struct model *model = calloc(1, sizeof *model);
    struct cv_check_options options = turns->check->model->setting.options;
    if (!pthread_equal(pthread_self(), turns->teller))
        options.progress = NULL;
    options.threads /= turns->threads;
    options.memory /= turns->threads;
    if (!model) {
        finish_turn(turns, &(struct check){.model = turns->check->model}, CV_ENOMEM);
        return NULL;
    }
    while (take_turn(turns, model, &options)) {
        struct cv_check_result result = {0};
        struct check mine = {.model = model, .result = &result};
        finish_turn(turns, &mine, model->out_of_memory ? CV_ENOMEM : search_order(&mine, options.reduction));
        model_free(model);
    }
    free(model);
    return NULL;
}

/* Are there as many orders as threads? Otherwise all threads search one order after the other. */
static bool are_enough(const struct setting *setting)
{
    struct order order = setting->order;
    uint32_t count = 1;
    while (count < setting->options.threads && alike_next(setting, &order))
        count++;
    return count >= setting->options.threads;
}

/* If requests are laid down in an order: one search for each of them. Where something goes wrong it stops. */
static int search_orders(struct check *check)
{
    const struct setting *setting = &check->model->setting;
    struct turns turns = {.check = check,
                          .order = setting->order,
                          .more = true,
                          .threads = are_enough(setting) ? setting->options.threads : 1,
                          .teller = pthread_self()};
    pthread_t threads[64];
    uint32_t running = 1;
    check->squares = 0;
    pthread_mutex_init(&turns.lock, NULL);
    while (running < turns.threads && !pthread_create(&threads[running], NULL, take_turns, &turns))
        running++;
    take_turns(&turns);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&turns.lock);
    check->search = turns.sum;
    return turns.error;
}

/*
 * If the algorithm does what a reduction relies on not being done: once more, without that reduction. If something is
 * wrong with requests in a given order: once more, with clocks, to tell whether it is, and the shortest story of it.
 */
static int search(struct check *check, const struct cv_scenario *scenario, const struct cv_check_options *options)
{
    struct cv_check_options now = *options;
    for (;;) {
        int error = model_init(check->model, scenario, &now);
        const bool ordered = check->model->setting.ordered;
        if (!error)
            error = ordered ? search_orders(check) : search_settled(check, now.reduction);
        const enum search_end end = check->search.end;
        const bool again = end == SEARCH_STRAYED || (ordered && (end == SEARCH_FOUND || check->search.may_cycle));
        if (error || !again)
            return error;
        if (end != SEARCH_STRAYED || check->model->timely)
            now.orders = CV_NO_ORDERS;
        else if (check->model->tied)
            now.orders = CV_ALL_ORDERS;
        now.drop_clocks &= !check->model->timely;
        now.reduction &= !check->model->strayed;
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
    result->bytes = search->bytes > result->bytes ? search->bytes : result->bytes;
    result->reduced = search->reduced;
    result->cyclic = search->may_cycle;
    result->collision = ldexp(squares, check->model->setting.options.wide ? -129 : -65);
    result->complete = search->end == SEARCH_COMPLETE;
    result->stopped = why_stopped(search->end);
    if (search->end == SEARCH_FOUND)
        check->finding = search->spot.finding;
}

int cv_check_run(const struct cv_scenario *scenario, const struct cv_check_options *options,
                 struct cv_check_result *result)
{
    struct check check = {.model = calloc(1, sizeof *check.model), .result = result};
    const double started = wall_seconds();
    *result = (struct cv_check_result){.trail.loop = CV_NEVER};
    if (!check.model)
        return CV_ENOMEM;
    int error = search(&check, scenario, options);
    if (!error) {
        note_search(&check);
        if (check.search.end == SEARCH_FOUND)
            error = trail_to_spot(check.model, &check.search, &result->trail);
        search_free(&check.search);
        if (check.search.end == SEARCH_COMPLETE && check.search.may_cycle && liveness_matters(&check.model->setting))
            error = check_liveness(&check);
        if (!error && result->trail.count)
            error = tell_trail(&check);
        list_findings(&check);
    }
    model_free(check.model);
    free(check.model);
    if (!error && result->trail.count && !result->confirmed && options->reduction) {
        /* Playing it again does not bear it out: a reduction was wrong about this algorithm. */
        struct cv_check_options all = *options;
        all.reduction = all.symmetry = all.drop_clocks = false;
        cv_check_free(result);
        error = cv_check_run(scenario, &all, result);
    }
    result->seconds = wall_seconds() - started;
    return error;
}

void cv_check_free(struct cv_check_result *result)
{
    free(result->trail.decisions);
    *result = (struct cv_check_result){0};
}
