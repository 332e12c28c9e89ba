// SPDX-License-Identifier: MIT
#include "check/turns.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/alike.h"
#include "check/settle.h"
#include "check/twin.h"

/* Each order is searched by one thread, with a model of its own. */
struct turns {
    struct model *model; /* that all others are made like */
    struct order order;  /* the next */
    bool more;
    struct search sum; /* of those that are done */
    double squares;
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
        turns->more = alike_next(&turns->model->setting, &turns->order);
    pthread_mutex_unlock(&turns->lock);
    if (!mine)
        return false;
    memset(model, 0, sizeof *model);
    const int error = model_init(model, turns->model->setting.scenario, options);
    model->setting.order = order;
    model->before = before;
    model->out_of_memory |= error != 0 || twins_new(&model->twins, model);
    return true;
}

/* Searches an order, and its cycles if there may be any. Those of a search that was stopped do not count. */
static int search_order(struct search *search, struct model *model, bool reduction)
{
    int error = settle_search(search, model, reduction);
    search_free(search);
    if (!error && search->end == SEARCH_COMPLETE && search->may_cycle)
        error = settle_cycles(search, model, reduction, NULL, NULL);
    search->may_cycle &= search->end == SEARCH_COMPLETE;
    return error;
}

/* Adds up; what is wrong, or may be, is kept. */
static void finish_turn(struct turns *turns, const struct search *search, const struct model *model, int error)
{
    struct search *sum = &turns->sum;
    pthread_mutex_lock(&turns->lock);
    if (error == CV_EINPUT)
        turns->model->mishap = model->mishap;
    turns->error = turns->error ? turns->error : error;
    if (sum->end == SEARCH_COMPLETE)
        sum->end = search->end;
    sum->states += search->states;
    sum->transitions += search->transitions;
    sum->ends += search->ends;
    sum->bytes = search->bytes * turns->threads > sum->bytes ? search->bytes * turns->threads : sum->bytes;
    sum->depth = search->depth > sum->depth ? search->depth : sum->depth;
    sum->reduced |= search->reduced;
    sum->may_cycle |= search->may_cycle;
    turns->squares += (double)search->states * (double)search->states;
    turns->model->timely |= model->timely;
    turns->model->tied |= model->tied;
    if (model->miscounted)
        turns->model->miscounted = true;
    if (model->unlike)
        model_break_promise(turns->model, model->unlike_indeed, "%s", model->unlike_text);
    turns->model->strayed |= model->strayed;
    pthread_mutex_unlock(&turns->lock);
}

static void *take_turns(void *argument)
{
    struct turns *turns = argument;
    struct model *model = calloc(1, sizeof *model);
    struct cv_check_options options = turns->model->setting.options;
    if (!pthread_equal(pthread_self(), turns->teller))
        options.progress = NULL;
    options.threads /= turns->threads;
    options.memory /= turns->threads;
    if (!model) {
        finish_turn(turns, &(struct search){0}, turns->model, CV_ENOMEM);
        return NULL;
    }
    while (take_turn(turns, model, &options)) {
        struct search search = {0};
        const int error = model->out_of_memory ? CV_ENOMEM : search_order(&search, model, options.reduction);
        finish_turn(turns, &search, model, error);
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

int turns_search(struct model *model, struct search *sum, double *squares)
{
    const struct setting *setting = &model->setting;
    struct turns turns = {.model = model,
                          .order = setting->order,
                          .more = true,
                          .threads = are_enough(setting) ? setting->options.threads : 1,
                          .teller = pthread_self()};
    pthread_t threads[64];
    uint32_t running = 1;
    pthread_mutex_init(&turns.lock, NULL);
    while (running < turns.threads && !pthread_create(&threads[running], NULL, take_turns, &turns))
        running++;
    take_turns(&turns);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&turns.lock);
    *sum = turns.sum;
    *squares = turns.squares;
    return turns.error;
}
