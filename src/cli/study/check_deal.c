// SPDX-License-Identifier: MIT
#include "cli/study/check_deal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"

#define MOST_THREADS 64u

struct dealing {
    const struct deal *deal;
    struct dealt_result *results; /* those of a rank lie together */
    uint32_t own, ranks;
    uint32_t next;  /* the next check of this rank */
    uint32_t wrong; /* the first that did not hold */
    int error;
    pthread_mutex_t lock;
};

/* How many checks the ranks before that one have; each rank has every so many-th check. */
static uint32_t first_of(const struct dealing *dealing, uint32_t rank)
{
    const uint32_t each = dealing->deal->count / dealing->ranks, rest = dealing->deal->count % dealing->ranks;
    return rank * each + (rank < rest ? rank : rest);
}

static struct dealt_result *result_of(const struct dealing *dealing, uint32_t number)
{
    return &dealing->results[first_of(dealing, number % dealing->ranks) + number / dealing->ranks];
}

/* Takes the next check, if there is one whose result counts. */
static bool take(struct dealing *dealing, uint32_t *number, struct cv_scenario *scenario,
                 struct cv_check_options *options)
{
    pthread_mutex_lock(&dealing->lock);
    *number = dealing->next;
    bool taken = !dealing->error && *number < dealing->deal->count && *number < dealing->wrong;
    if (taken) {
        dealing->next += dealing->ranks;
        dealing->error = dealing->deal->prepare(dealing->deal->context, *number, scenario, options);
        taken = !dealing->error;
    }
    pthread_mutex_unlock(&dealing->lock);
    return taken;
}

static void note(struct dealing *dealing, uint32_t number, const struct cv_check_result *result, int error)
{
    struct dealt_result *dealt = result_of(dealing, number);
    dealt->held =
        !error && result->complete && result->judgement.verdict == CV_HELD && !result->stopped && !*result->promise;
    dealt->reduced = result->reduced;
    dealt->cyclic = result->cyclic;
    dealt->depth = result->depth;
    dealt->states = result->states;
    dealt->transitions = result->transitions;
    dealt->ends = result->ends;
    dealt->bytes = result->bytes;
    dealt->collision = result->collision;
    dealt->finding_count = result->judgement.finding_count;
    for (uint32_t i = 0; i < dealt->finding_count; i++)
        dealt->findings[i] = result->judgement.findings[i].verdict;
    if (dealt->held)
        return;
    pthread_mutex_lock(&dealing->lock);
    dealing->wrong = number < dealing->wrong ? number : dealing->wrong;
    pthread_mutex_unlock(&dealing->lock);
}

static void *check_some(void *argument)
{
    struct dealing *dealing = argument;
    struct cv_scenario scenario = {0};
    struct cv_check_options options;
    for (uint32_t number; take(dealing, &number, &scenario, &options);) {
        struct cv_check_result result;
        const int error = cv_check_run(&scenario, &options, &result);
        note(dealing, number, &result, error);
        cv_check_free(&result);
        cv_scenario_free(&scenario);
        scenario = (struct cv_scenario){0};
    }
    cv_scenario_free(&scenario);
    return NULL;
}

/* 0, or the error of a rank that has one. */
static int agree(struct cv_ranks *ranks, int error)
{
    uint64_t most = (uint64_t) - (int64_t)error; /* errors are negative */
    if (ranks)
        cv_ranks_reduce(ranks, CV_REDUCE_MOST, &most, 1);
    return -(int)most;
}

/* All ranks get the results of all. */
static void share(const struct dealing *dealing)
{
    for (uint32_t rank = 0; rank < dealing->ranks && dealing->ranks > 1; rank++) {
        const uint32_t first = first_of(dealing, rank), end = first_of(dealing, rank + 1);
        if (end > first)
            cv_ranks_broadcast(dealing->deal->ranks, rank, dealing->results + first,
                               (end - first) * sizeof *dealing->results);
    }
}

int check_deal(const struct deal *deal, struct dealt_result *results)
{
    struct dealing dealing = {.deal = deal,
                              .results = calloc(deal->count, sizeof *dealing.results),
                              .own = deal->ranks ? cv_ranks_own(deal->ranks) : 0,
                              .ranks = deal->ranks ? cv_ranks_count(deal->ranks) : 1,
                              .wrong = UINT32_MAX};
    pthread_t threads[MOST_THREADS];
    uint32_t running = 1;
    dealing.next = dealing.own;
    dealing.error = agree(deal->ranks, dealing.results ? 0 : CV_ENOMEM);
    if (dealing.error) {
        free(dealing.results);
        return dealing.error;
    }
    pthread_mutex_init(&dealing.lock, NULL);
    while (running < deal->threads && running < MOST_THREADS &&
           !pthread_create(&threads[running], NULL, check_some, &dealing))
        running++;
    check_some(&dealing);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&dealing.lock);
    dealing.error = agree(deal->ranks, dealing.error);
    if (!dealing.error)
        share(&dealing);
    for (uint32_t i = 0; i < deal->count; i++)
        results[i] = *result_of(&dealing, i);
    free(dealing.results);
    return dealing.error;
}
