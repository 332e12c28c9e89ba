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

/* A bit for each order, by its number: the place at which order_symmetry_next() comes to it. */
struct order_set {
    uint8_t bits[(MOST_ORDERS + 7) / 8];
};

static bool order_set_has(const struct order_set *set, uint64_t number)
{
    return set->bits[number / 8] >> number % 8 & 1;
}

/* Where the search of all orders is: in a checkpoint. */
struct saved_orders {
    struct order_set finished;
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
    uint64_t next;       /* its number */
    uint64_t dealt;      /* orders that ranks have taken */
    struct search sum;   /* of the finished searches */
    double squares;      /* of their numbers of states */
    int error;
    uint32_t threads;
    pthread_t reporter;        /* the thread that shows progress */
    struct order_set before;   /* orders that were finished when a checkpoint was written from which this goes on */
    struct saved_orders saved; /* without what was not finished; the first rank's has what all ranks have finished */
    uint32_t ended;            /* other ranks that have no orders left */
    pthread_mutex_t lock;
};

/* ---- checkpoints ---- */

/* A finished search of an order, on its way into a checkpoint. */
struct finished_order {
    uint64_t number;
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;
    uint64_t bytes; /* the most that the rank has held so far */
    uint32_t depth;
    bool reduced;
    bool may_cycle;
    bool promise_doubted; /* as in struct model, of all orders of the rank so far, and so the next */
    bool promise_broken;
    bool counters_fail;
    char promise_text[160];
};

/* It need not be searched again. */
static void note_finished(struct saved_orders *saved, const struct finished_order *it)
{
    saved->finished.bits[it->number / 8] |= (uint8_t)(1u << it->number % 8);
    saved->reduced |= it->reduced;
    saved->may_cycle |= it->may_cycle;
    saved->depth = it->depth > saved->depth ? it->depth : saved->depth;
    saved->states += it->states;
    saved->transitions += it->transitions;
    saved->ends += it->ends;
    saved->bytes = it->bytes > saved->bytes ? it->bytes : saved->bytes;
    saved->squares += (double)it->states * (double)it->states;
    if (it->promise_doubted && (!saved->promise_doubted || it->promise_broken))
        memcpy(saved->promise_text, it->promise_text, sizeof saved->promise_text);
    saved->promise_doubted |= it->promise_doubted;
    saved->promise_broken |= it->promise_broken;
    saved->counters_fail |= it->counters_fail;
}

static bool writes_checkpoints(const struct order_search *order_search)
{
    const struct cv_checkpoint *checkpoint = order_search->model->setting.options.checkpoint;
    return checkpoint && checkpoint->path;
}

static void save(struct order_search *order_search)
{
    struct cv_checkpoint *checkpoint = order_search->model->setting.options.checkpoint;
    cv_checkpoint_note(checkpoint, CHECKPOINT_ORDERS, &order_search->saved, sizeof order_search->saved);
    cv_checkpoint_write(checkpoint, NULL, NULL);
    cv_checkpoint_note(checkpoint, CHECKPOINT_ORDERS, NULL, 0);
}

/* Goes on where a checkpoint was written. The first rank has the sums. */
static void recall(struct order_search *order_search)
{
    struct cv_checkpoint *checkpoint = order_search->model->setting.options.checkpoint;
    struct saved_orders *saved = &order_search->saved;
    struct model *model = order_search->model;
    if (!cv_checkpoint_recall(checkpoint, CHECKPOINT_ORDERS, saved, sizeof *saved))
        return;
    cv_checkpoint_is_found(checkpoint);
    order_search->before = saved->finished;
    model->counters_fail = saved->counters_fail;
    if (saved->promise_doubted)
        model_doubt_promise(model, saved->promise_broken, "%.159s", saved->promise_text);
    if (!is_first_rank(model->setting.options.ranks))
        return;
    order_search->squares = saved->squares;
    order_search->sum.reduced = saved->reduced;
    order_search->sum.may_cycle = saved->may_cycle;
    order_search->sum.depth = saved->depth;
    order_search->sum.states = saved->states;
    order_search->sum.transitions = saved->transitions;
    order_search->sum.ends = saved->ends;
    order_search->sum.bytes = saved->bytes;
}

/* ---- checkpoints of several ranks ---- */

/* Other ranks tell the first what they have finished, and at the end that this was all: an empty block. */
enum order_tag { TAG_FINISHED = 48 };

static void send_finished(struct cv_ranks *ranks, const struct finished_order *it)
{
    struct cv_block *block = cv_block_new(ranks, sizeof *it);
    if (block && it) {
        memcpy(block->bytes, it, sizeof *it);
        block->size = sizeof *it;
    }
    if (!block || cv_ranks_send(ranks, 0, TAG_FINISHED, block))
        cv_ranks_abort(ranks, 2); /* the first rank would wait for ever */
}

/* False: nothing has come. */
static bool receive_finished(struct order_search *order_search)
{
    struct cv_ranks *ranks = order_search->model->setting.options.ranks;
    struct finished_order finished;
    struct cv_block *block = NULL;
    if (cv_ranks_receive(ranks, &block))
        cv_ranks_abort(ranks, 2);
    if (!block)
        return false;
    if (block->size == sizeof finished) {
        memcpy(&finished, block->bytes, sizeof finished);
        note_finished(&order_search->saved, &finished);
    } else {
        order_search->ended++;
    }
    cv_block_free(ranks, block);
    return true;
}

/* The first rank notes what all have finished, and writes it down now and then. */
static void keep_saving(struct order_search *order_search)
{
    struct cv_ranks *ranks = order_search->model->setting.options.ranks;
    if (!ranks || !writes_checkpoints(order_search))
        return;
    if (!is_first_rank(ranks)) {
        send_finished(ranks, NULL);
        return;
    }
    while (order_search->ended < cv_ranks_count(ranks) - 1) {
        if (!receive_finished(order_search))
            cv_ranks_rest(ranks);
        if (cv_checkpoint_is_due(order_search->model->setting.options.checkpoint))
            save(order_search);
    }
}

/* Notes a finished search where it gets into the checkpoint. */
static void tell_finished(struct order_search *order_search, const struct search *search, uint64_t number)
{
    const struct model *model = order_search->model;
    struct cv_ranks *ranks = model->setting.options.ranks;
    struct finished_order it = {.number = number,
                                .states = search->states,
                                .transitions = search->transitions,
                                .ends = search->ends,
                                .bytes = order_search->sum.bytes,
                                .depth = search->depth,
                                .reduced = search->reduced,
                                .may_cycle = search->may_cycle,
                                .promise_doubted = model->promise_doubted,
                                .promise_broken = model->promise_broken,
                                .counters_fail = model->counters_fail};
    memcpy(it.promise_text, model->promise_text, sizeof it.promise_text);
    if (!writes_checkpoints(order_search))
        return;
    if (!is_first_rank(ranks)) {
        send_finished(ranks, &it);
        return;
    }
    note_finished(&order_search->saved, &it);
    while (ranks && receive_finished(order_search))
        ;
    if (cv_checkpoint_is_due(model->setting.options.checkpoint))
        save(order_search);
}

/* ---- orders ---- */

/* Chooses the next order; false after the last. Ranks take in turn those that are not finished. */
static bool choose(struct order_search *order_search, struct order *order, uint64_t *number)
{
    const struct cv_ranks *ranks = order_search->model->setting.options.ranks;
    bool mine = false;
    while (order_search->more && !mine) {
        *order = order_search->order;
        *number = order_search->next++;
        order_search->more = order_symmetry_next(&order_search->model->setting, &order_search->order);
        mine = !order_set_has(&order_search->before, *number) &&
               (!ranks || order_search->dealt++ % cv_ranks_count(ranks) == cv_ranks_own(ranks));
    }
    return mine;
}

/* Makes the model of the next order; false if there is none, or no need to search it. */
static bool next_model(struct order_search *order_search, struct model *model, const struct cv_check_options *options,
                       uint64_t *number)
{
    pthread_mutex_lock(&order_search->lock);
    struct order order;
    const uint64_t before = order_search->sum.states;
    const bool mine = !order_search->error && order_search->sum.end == SEARCH_COMPLETE &&
                      !order_search->sum.may_cycle && choose(order_search, &order, number);
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
                       uint64_t number, int error)
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
        tell_finished(order_search, search, number);
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
        add_search(order_search, &(struct search){0}, order_search->model, 0, CV_ENOMEM);
        return NULL;
    }
    for (uint64_t number; next_model(order_search, model, &options, &number);) {
        struct search search = {0};
        const int error = model->out_of_memory ? CV_ENOMEM : search_order(&search, model, options.reduction);
        add_search(order_search, &search, model, number, error);
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
    pthread_t threads[MOST_THREADS];
    uint32_t running = 1;
    pthread_mutex_init(&order_search.lock, NULL);
    recall(&order_search);
    while (running < order_search.threads && !pthread_create(&threads[running], NULL, search_orders, &order_search))
        running++;
    search_orders(&order_search);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    keep_saving(&order_search);
    pthread_mutex_destroy(&order_search.lock);
    *sum = order_search.sum;
    *squares = order_search.squares;
    agree_on_doubts(setting->options.ranks, model);
    agree_on_orders(setting->options.ranks, sum, squares);
    if (sum->end == SEARCH_INTERRUPTED && is_first_rank(setting->options.ranks) && writes_checkpoints(&order_search))
        save(&order_search);
    return agree_on_error(setting->options.ranks, order_search.error);
}
