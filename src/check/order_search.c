// SPDX-License-Identifier: MIT
#include "check/order_search.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/fixpoint.h"
#include "check/symmetry/counter_test.h"
#include "check/symmetry/order_image.h"
#include "check/symmetry/order_symmetry.h"

/* What the threads share. Each order is searched with a model of its own. */
struct order_search {
    struct model *model; /* the pattern of all others */
    struct order order;  /* the next one to search */
    bool more;           /* there is a next one */
    struct search sum;   /* of the finished searches */
    double squares;      /* of their numbers of states */
    int error;
    uint32_t threads;
    pthread_t reporter; /* the thread that shows progress */
    pthread_mutex_t lock;
};

/* Makes the model of the next order; false if there is none, or no need to search it. */
static bool next_model(struct order_search *order_search, struct model *model, const struct cv_check_options *options)
{
    pthread_mutex_lock(&order_search->lock);
    const struct order order = order_search->order;
    const uint64_t before = order_search->sum.states;
    const bool mine = order_search->more && !order_search->error && order_search->sum.end == SEARCH_COMPLETE &&
                      !order_search->sum.may_cycle;
    if (mine)
        order_search->more = order_symmetry_next(&order_search->model->setting, &order_search->order);
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
    pthread_mutex_unlock(&order_search->lock);
}

static void *search_orders(void *argument)
{
    struct order_search *order_search = argument;
    struct model *model = calloc(1, sizeof *model);
    struct cv_check_options options = order_search->model->setting.options;
    if (!pthread_equal(pthread_self(), order_search->reporter))
        options.progress = NULL;
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
    pthread_t threads[64];
    uint32_t running = 1;
    pthread_mutex_init(&order_search.lock, NULL);
    while (running < order_search.threads && !pthread_create(&threads[running], NULL, search_orders, &order_search))
        running++;
    search_orders(&order_search);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&order_search.lock);
    *sum = order_search.sum;
    *squares = order_search.squares;
    return order_search.error;
}
