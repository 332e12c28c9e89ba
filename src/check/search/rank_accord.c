// SPDX-License-Identifier: MIT
#include "check/search/rank_accord.h"

static bool are_alone(const struct cv_ranks *ranks)
{
    return !ranks || cv_ranks_count(ranks) < 2;
}

/* ---- the end of a level ---- */

/* The text of the first rank that doubts a promise becomes that of all. */
static void agree_on_promise(struct model *model, struct cv_ranks *ranks)
{
    struct {
        bool broken;
        char text[sizeof model->promise_text];
    } doubt = {.broken = model->promise_broken};
    uint64_t broken = model->promise_doubted && model->promise_broken ? cv_ranks_own(ranks) : UINT32_MAX;
    uint64_t first = model->promise_doubted ? cv_ranks_own(ranks) : UINT32_MAX;
    memcpy(doubt.text, model->promise_text, sizeof doubt.text);
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &broken, 1);
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &first, 1);
    cv_ranks_broadcast(ranks, (uint32_t)(broken != UINT32_MAX ? broken : first), &doubt, sizeof doubt);
    model->promise_broken = doubt.broken;
    memcpy(model->promise_text, doubt.text, sizeof model->promise_text);
    model->promise_doubted = true;
}

void agree_on_doubts(struct cv_ranks *ranks, struct model *model)
{
    uint64_t doubts[] = {model->promise_doubted, model->counters_fail, model->reads_clocks, model->equal_times_differ,
                         model->leaves_topology};
    if (are_alone(ranks))
        return;
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, doubts, sizeof doubts / sizeof *doubts);
    model->counters_fail = doubts[1] != 0;
    model->reads_clocks = doubts[2] != 0;
    model->equal_times_differ = doubts[3] != 0;
    model->leaves_topology = doubts[4] != 0;
    if (doubts[0])
        agree_on_promise(model, ranks);
}

void agree_on_level(struct crew *crew, struct level_sum *sum)
{
    struct model *model = crew->model;
    if (!crew->exchange)
        return;
    uint64_t numbers[sizeof *sum / sizeof(uint64_t)];
    memcpy(numbers, sum, sizeof *sum);
    cv_ranks_reduce(crew->exchange->ranks, CV_REDUCE_SUM, numbers, sizeof numbers / sizeof *numbers);
    memcpy(sum, numbers, sizeof *sum);
    model->counters_fail = sum->counters_fail != 0;
    model->reads_clocks = sum->reads_clocks != 0;
    model->equal_times_differ = sum->equal_times_differ != 0;
    model->leaves_topology = sum->leaves_topology != 0;
    if (sum->promise_doubted)
        agree_on_promise(model, crew->exchange->ranks);
}

/* ---- violations ---- */

/* A spot without pointers, which mean nothing elsewhere. */
struct told_spot {
    struct spot spot;
    uint64_t property;
};

static uint64_t property_of(const struct spot *spot)
{
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++)
        if (spot->finding.name && strcmp(cv_property((enum cv_property_number)i)->name, spot->finding.name) == 0)
            return i;
    return CV_PROPERTY_COUNT;
}

/*
 * Of the ranks that are still in, those with the least number stay in. Half a number at a time: not every MPI library
 * takes the highest bit for part of it.
 */
static bool stays_in(struct cv_ranks *ranks, bool in, uint64_t number)
{
    for (unsigned shift = 64; shift > 0;) {
        shift -= 32;
        const uint64_t part = number >> shift & UINT32_MAX;
        uint64_t least = in ? part : (uint64_t)UINT32_MAX + 1;
        cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &least, 1);
        in &= part == least;
    }
    return in;
}

void agree_on_spot(struct crew *crew)
{
    struct search *search = crew->search;
    struct cv_ranks *ranks = crew->exchange ? crew->exchange->ranks : NULL;
    if (!ranks)
        return;
    const struct spot *own = &search->spot;
    bool in = own->found;
    const uint64_t keys[] = {own->level,           own->fingerprint, own->step.key.half[0],
                             own->step.violations, own->step.type,   cv_ranks_own(ranks)};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        in = stays_in(ranks, in, keys[i]);
    uint64_t teller = in ? cv_ranks_own(ranks) : UINT32_MAX;
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &teller, 1);
    struct told_spot told = {.spot = *own, .property = property_of(own)};
    cv_ranks_broadcast(ranks, (uint32_t)teller, &told, sizeof told);
    struct cv_finding finding = cv_finding_of((enum cv_property_number)told.property, CV_VIOLATED);
    memcpy(finding.detail, told.spot.finding.detail, sizeof finding.detail);
    search->spot = told.spot;
    search->spot.finding = finding;
    search->spot.step.outcome = NULL;
}

/* ---- the end of a search ---- */

void agree_on_numbers(struct cv_ranks *ranks, struct search *search)
{
    if (are_alone(ranks))
        return;
    uint64_t sums[] = {search->states,    search->transitions, search->ends,     search->bytes,
                       search->may_cycle, search->reduced,     search->disk.most};
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, sums, sizeof sums / sizeof *sums);
    uint64_t disk_error = (uint64_t)search->disk.error;
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, &disk_error, 1);
    search->disk.error = (int)disk_error;
    search->states = sums[0];
    search->transitions = sums[1];
    search->ends = sums[2];
    search->bytes = sums[3];
    search->may_cycle = sums[4] != 0;
    search->reduced = sums[5] != 0;
    search->disk.most = sums[6];
}

void agree_on_orders(struct cv_ranks *ranks, struct search *sum, double *squares)
{
    uint64_t most[] = {sum->end, sum->depth}, square = (uint64_t)*squares;
    if (are_alone(ranks))
        return;
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, most, 2);
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, &square, 1);
    sum->end = (enum search_end)most[0];
    sum->depth = (uint32_t)most[1];
    *squares = (double)square;
    agree_on_numbers(ranks, sum);
}

int agree_on_error(struct cv_ranks *ranks, int error)
{
    if (are_alone(ranks))
        return error;
    uint64_t most = (uint64_t) - (int64_t)error; /* errors are negative */
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, &most, 1);
    return -(int)most;
}

void agree_with_first(struct cv_ranks *ranks, void *bytes, size_t size)
{
    if (!are_alone(ranks))
        cv_ranks_broadcast(ranks, 0, bytes, size);
}
