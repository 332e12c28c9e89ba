// SPDX-License-Identifier: MIT
/*
 * Looks for something that can still happen, breadth first from the present state of a story. So what it finds is as
 * short as possible. It works on a world of its own, a few states at a time, and reads no clock. It takes every
 * scenario; model_search.h is faster where it can be used.
 */
#ifndef CONCLAVE_EXPLORE_STATE_SEARCH_H
#define CONCLAVE_EXPLORE_STATE_SEARCH_H

#include "explore/search_goal.h"

struct state_search;

/* 0 or CV_ENOMEM; free it in both cases. */
int state_search_new(struct state_search **search, const struct explored *from, const struct search_goal *goal,
                     const struct search_limits *limits);
void state_search_free(struct state_search *search);

/* Expands so many states. 0 or CV_ENOMEM. */
int state_search_more(struct state_search *search, uint64_t states);

/* A handler failed in the search, and the call ended there. False: no search was at work. */
bool state_search_failed(struct state_search *search, const char *why);

void state_search_progress(const struct state_search *search, struct search_progress *progress);

/* The indices of the events that lead to what was found: as many as its depth. */
void state_search_indices(const struct state_search *search, uint64_t *indices);

#endif
