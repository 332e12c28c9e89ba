// SPDX-License-Identifier: MIT
#include "check/order_search.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/fixpoint.h"
#include "check/search/rank_accord.h"
#include "check/symmetry/counter_test.h"
#include "check/symmetry/order_image.h"
#include "check/symmetry/order_symmetry.h"
#include "saved/checkpoint.h"

#define MOST_THREADS 64u

/* Where the search of all orders is: in a checkpoint. */
struct saved_orders {
    struct order next;
    struct order open[MOST_THREADS]; /* begun and not finished */
    uint32_t open_count;
    bool more;
    bool reduced;
    bool may_cycle;
    bool promise_doubted;
    bool promise_broken;
    bool counters_fail;
    uint32_t depth;
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;
    uint64_t bytes;
    double squares;
    char promise_text[160];
};

/* What the threads share. Each order is searched with a model of its own. */
struct order_search {
    struct model *model; /* the pattern of all others */
    struct order order;  /* the next one to search */
    bool more;           /* there is a next one */
    uint64_t taken;      /* orders that ranks have taken */
    uint32_t again;      /* orders of a checkpoint that are still to be searched again */
    struct search sum;   /* of the finished searches */
    double squares;      /* of their numbers of states */
    int error;
    uint32_t threads;
    pthread_t reporter;        /* the thread that shows progress */
    struct saved_orders saved; /* without what was not finished */
    pthread_mutex_t lock;
};

/* ---- checkpoints ---- */

static bool is_same(const struct order *one, const struct order *other)
{
    return one->ranks == other->ranks && memcmp(one->masks, other->masks, one->ranks * sizeof *one->masks) == 0;
}

/* A search of an order is complete: it need not be searched again. */
static void note_finished(struct order_search *order_search, const struct search *search, const struct model *model)
{
    struct saved_orders *saved = &order_search->saved;
    uint32_t at = 0;
    while (at < saved->open_count && !is_same(&saved->open[at], &model->setting.order))
        at++;
    if (at < saved->open_count)
        saved->open[at] = saved->open[--saved->open_count];
    saved->reduced |= search->reduced;
    saved->may_cycle |= search->may_cycle;
    saved->depth = search->depth > saved->depth ? search->depth : saved->depth;
    saved->states += search->states;
    saved->transitions += search->transitions;
    saved->ends += search->ends;
    saved->bytes = order_search->sum.bytes;
    saved->squares = order_search->squares;
    saved->promise_doubted = order_search->model->promise_doubted;
    saved->promise_broken = order_search->model->promise_broken;
    saved->counters_fail = order_search->model->counters_fail;
    memcpy(saved->promise_text, order_search->model->promise_text, sizeof saved->promise_text);
}

static void save(struct order_search *order_search)
{
    struct cv_checkpoint *checkpoint = order_search->model->setting.options.checkpoint;
    order_search->saved.next = order_search->order;
    order_search->saved.more = order_search->more;
    cv_checkpoint_note(checkpoint, CHECKPOINT_ORDERS, &order_search->saved, sizeof order_search->saved);
    cv_checkpoint_write(checkpoint, NULL, NULL);
    cv_checkpoint_note(checkpoint, CHECKPOINT_ORDERS, NULL, 0);
}

/* Goes on where a checkpoint was written. What was open then is searched first. */
static void recall(struct order_search *order_search)
{
    struct cv_checkpoint *checkpoint = order_search->model->setting.options.checkpoint;
    struct saved_orders *saved = &order_search->saved;
    struct model *model = order_search->model;
    if (!cv_checkpoint_recall(checkpoint, CHECKPOINT_ORDERS, saved, sizeof *saved))
        return;
    cv_checkpoint_is_found(checkpoint);
    order_search->order = saved->next;
    order_search->more = saved->more;
    order_search->again = saved->open_count < MOST_THREADS ? saved->open_count : MOST_THREADS;
    order_search->squares = saved->squares;
    order_search->sum.reduced = saved->reduced;
    order_search->sum.may_cycle = saved->may_cycle;
    order_search->sum.depth = saved->depth;
    order_search->sum.states = saved->states;
    order_search->sum.transitions = saved->transitions;
    order_search->sum.ends = saved->ends;
    order_search->sum.bytes = saved->bytes;
    model->counters_fail = saved->counters_fail;
    if (saved->promise_doubted)
        model_doubt_promise(model, saved->promise_broken, "%.159s", saved->promise_text);
}

/* ---- orders ---- */

/* Chooses the next order; false after the last. */
static bool choose(struct order_search *order_search, struct order *order)
{
    struct saved_orders *saved = &order_search->saved;
    if (order_search->again) {
        *order = saved->open[--order_search->again];
        return true;
    }
    const struct cv_ranks *ranks = order_search->model->setting.options.ranks;
    bool mine = false;
    while (order_search->more && !mine) { /* ranks take the orders in turn */
        *order = order_search->order;
        order_search->more = order_symmetry_next(&order_search->model->setting, &order_search->order);
        mine = !ranks || order_search->taken++ % cv_ranks_count(ranks) == cv_ranks_own(ranks);
    }
    if (!mine)
        return false;
    if (saved->open_count < MOST_THREADS)
        saved->open[saved->open_count++] = *order;
    return true;
}

/* Makes the model of the next order; false if there is none, or no need to search it. */
static bool next_model(struct order_search *order_search, struct model *model, const struct cv_check_options *options)
{
    pthread_mutex_lock(&order_search->lock);
    struct order order;
    const uint64_t before = order_search->sum.states;
    const bool mine = !order_search->error && order_search->sum.end == SEARCH_COMPLETE &&
                      !order_search->sum.may_cycle && choose(order_search, &order);
    pthread_mutex_unlock(&order_search->lock);
    if (!mine)
        return false;
    memset(model, 0, sizeof *model);
    const int error = model_init(model, order_search->model->setting.scenario, options);
    model->setting.order = order;
    model->before = before;
    model->out_of_memory |= error != 0 || counter_test_register(model) || order_images_register(model);
    return true;
}

/* Searches an order, and its cycles if there may be any. A search that was stopped says nothing about cycles. */
static int search_order(struct search *search, struct model *model, bool reduction)
{
    int error = fixpoint_search(search, model, reduction);
    search_free(search);
    if (!error && search->end == SEARCH_COMPLETE && search->may_cycle)
        error = fixpoint_cycles(search, model, reduction, NULL, NULL);
    search->may_cycle &= search->end == SEARCH_COMPLETE;
    return error;
}

/* Adds a finished search to the sum, and what its reductions were wrong about to the model. */
static void add_search(struct order_search *order_search, const struct search *search, const struct model *model,
                       int error)
{
    struct search *sum = &order_search->sum;
    pthread_mutex_lock(&order_search->lock);
    if (error == CV_EINPUT)
        memcpy(order_search->model->begin_failure, model->begin_failure, sizeof model->begin_failure);
    order_search->error = order_search->error ? order_search->error : error;
    if (sum->end == SEARCH_COMPLETE)
        sum->end = search->end;
    sum->states += search->states;
    sum->transitions += search->transitions;
    sum->ends += search->ends;
    sum->bytes =
        search->bytes * order_search->threads > sum->bytes ? search->bytes * order_search->threads : sum->bytes;
    if (search->disk.most * order_search->threads > sum->disk.most)
        sum->disk.most = search->disk.most * order_search->threads;
    if (search->disk.error)
        sum->disk.error = search->disk.error;
    sum->depth = search->depth > sum->depth ? search->depth : sum->depth;
    sum->reduced |= search->reduced;
    sum->may_cycle |= search->may_cycle;
    order_search->squares += (double)search->states * (double)search->states;
    order_search->model->reads_clocks |= model->reads_clocks;
    order_search->model->equal_times_differ |= model->equal_times_differ;
    if (model->counters_fail)
        order_search->model->counters_fail = true;
    if (model->promise_doubted)
        model_doubt_promise(order_search->model, model->promise_broken, "%s", model->promise_text);
    order_search->model->leaves_topology |= model->leaves_topology;
    if (!error && search->end == SEARCH_COMPLETE)
        note_finished(order_search, search, model);
    if (cv_checkpoint_is_due(order_search->model->setting.options.checkpoint))
        save(order_search);
    pthread_mutex_unlock(&order_search->lock);
}

static void *search_orders(void *argument)
{
    struct order_search *order_search = argument;
    struct model *model = calloc(1, sizeof *model);
    struct cv_check_options options = order_search->model->setting.options;
    if (!pthread_equal(pthread_self(), order_search->reporter))
        options.progress = NULL;
    options.checkpoint = NULL; /* it lies between two orders */
    options.ranks = NULL;      /* the others search other orders */
    options.threads /= order_search->threads;
    options.memory /= order_search->threads;
    if (!model) {
        add_search(order_search, &(struct search){0}, order_search->model, CV_ENOMEM);
        return NULL;
    }
    while (next_model(order_search, model, &options)) {
        struct search search = {0};
        const int error = model->out_of_memory ? CV_ENOMEM : search_order(&search, model, options.reduction);
        add_search(order_search, &search, model, error);
        model_free(model);
    }
    free(model);
    return NULL;
}

/* Are there as many orders as threads? Otherwise all threads together search one order after the other. */
static bool suffice_for_threads(const struct setting *setting)
{
    struct order order = setting->order;
    uint32_t count = 1;
    while (count < setting->options.threads && order_symmetry_next(setting, &order))
        count++;
    return count >= setting->options.threads;
}

int order_search_run(struct model *model, struct search *sum, double *squares)
{
    const struct setting *setting = &model->setting;
    struct order_search order_search = {.model = model,
                                        .order = setting->order,
                                        .more = true,
                                        .threads = suffice_for_threads(setting) ? setting->options.threads : 1,
                                        .reporter = pthread_self()};
    const struct cv_checkpoint *checkpoint = setting->options.checkpoint;
    pthread_t threads[MOST_THREADS];
    uint32_t running = 1;
    pthread_mutex_init(&order_search.lock, NULL);
    recall(&order_search);
    while (running < order_search.threads && !pthread_create(&threads[running], NULL, search_orders, &order_search))
        running++;
    search_orders(&order_search);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    if (order_search.sum.end == SEARCH_INTERRUPTED && checkpoint && checkpoint->path)
        save(&order_search);
    pthread_mutex_destroy(&order_search.lock);
    *sum = order_search.sum;
    *squares = order_search.squares;
    agree_on_doubts(setting->options.ranks, model);
    agree_on_orders(setting->options.ranks, sum, squares);
    return agree_on_error(setting->options.ranks, order_search.error);
}
