// SPDX-License-Identifier: MIT
/*
 * What the ranks of a search agree on when they meet. Every rank must call these functions, in the same order, and each
 * gets the same answers: so all ranks take the same decisions. Without other ranks they change nothing.
 */
#ifndef CONCLAVE_CHECK_SEARCH_RANK_ACCORD_H
#define CONCLAVE_CHECK_SEARCH_RANK_ACCORD_H

#include "check/search/crew.h"

/* What all ranks have done up to the end of a level. */
struct level_sum {
    uint64_t waiting;         /* ranks that have states of the next level */
    uint64_t states;          /* seen so far */
    uint64_t expanded;        /* as in struct worker */
    uint64_t saved;           /* as in struct worker */
    uint64_t learnt;          /* ranks with new observations */
    uint64_t found;           /* ranks that have found a violation */
    uint64_t stopped;         /* ranks that cannot go on, for the reason: */
    uint64_t memory;          /* there is none */
    uint64_t disk;            /* it is full, or fails */
    uint64_t interrupted;     /* the user wants it */
    uint64_t promise_doubted; /* as in struct model, and so the next */
    uint64_t counters_fail;
    uint64_t reads_clocks;
    uint64_t equal_times_differ;
    uint64_t leaves_topology;
};

/* Adds up what the ranks have. The model's doubts about reductions become those of all. */
void agree_on_level(struct crew *crew, struct level_sum *sum);

/* All ranks get the violation that is told, if a rank has found one. */
void agree_on_spot(struct crew *crew);

/* The sums of the numbers of a search that is over. */
void agree_on_numbers(struct cv_ranks *ranks, struct search *search);

/* The model's doubts about reductions become those of all ranks. */
void agree_on_doubts(struct cv_ranks *ranks, struct model *model);

/* The sum of searches of which every rank has made some; a search that was stopped stops all. */
void agree_on_orders(struct cv_ranks *ranks, struct search *sum, double *squares);

/* 0, or the error of a rank that has one. */
int agree_on_error(struct cv_ranks *ranks, int error);

/* All ranks get these bytes of the first. */
void agree_with_first(struct cv_ranks *ranks, void *bytes, size_t size);

/* Is this the rank that does what cannot be shared? */
static inline bool is_first_rank(const struct cv_ranks *ranks)
{
    return !ranks || cv_ranks_own(ranks) == 0;
}

#endif
