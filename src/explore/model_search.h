// SPDX-License-Identifier: MIT
/*
 * The checker's own search, from the present state of a story: its numbers in place of full states, its steps, its
 * judges. It is several times as fast as state_search.h. It takes elections and mutual exclusion in groups of up to 16
 * nodes, without lost or duplicated messages and without faults that the scenario still plans.
 */
#ifndef CONCLAVE_EXPLORE_MODEL_SEARCH_H
#define CONCLAVE_EXPLORE_MODEL_SEARCH_H

#include "explore/search_goal.h"

struct model_search;

/* Does it take this search? */
bool model_search_takes(const struct explored *world, const struct search_limits *limits);

/* 0 or CV_ENOMEM; free it in both cases. The goal and the limits must outlive it. */
int model_search_new(struct model_search **search, const struct explored *world, const struct search_goal *goal,
                     const struct search_limits *limits);
void model_search_free(struct model_search *search);

/* Expands so many states. 0 or CV_ENOMEM. */
int model_search_more(struct model_search *search, uint64_t states);

void model_search_progress(const struct model_search *search, struct search_progress *progress);

/* Has the algorithm broken a promise that the search relies on? Then its result does not count. */
bool model_search_is_doubted(const struct model_search *search);

/* Hears a step: the decision, and the message that it delivers, or NULL. False ends the telling. */
typedef bool model_search_hear(void *context, const struct cv_decision *decision, const struct cv_message *message);

/* Tells the steps that lead to what was found. True if all were heard. */
bool model_search_tell(struct model_search *search, model_search_hear *hear, void *context);

#endif
