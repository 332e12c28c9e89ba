// SPDX-License-Identifier: MIT
/*
 * Looks for something that can still happen, breadth first from the present state of a story. So what it finds is as
 * short as possible. It works on a world of its own, a few states at a time, and reads no clock.
 */
#ifndef CONCLAVE_EXPLORE_STATE_SEARCH_H
#define CONCLAVE_EXPLORE_STATE_SEARCH_H

#include "explore/explored.h"
#include "explore/json_reader.h"
#include "show/json.h"

struct state_search;

/* Begins a search for {"goal":…,"limits":…}: see explore.h. 0, CV_ENOMEM, or CV_EINPUT with a complaint. */
int state_search_new(struct state_search **search, struct explored *from, const struct json_value *arguments,
                     struct cv_complaint *complaint);
void state_search_free(struct state_search *search);

/* Expands so many states. 0 or CV_ENOMEM. */
int state_search_more(struct state_search *search, uint64_t states);

/* A handler failed in the search, and the call ended there. False: no search was at work. */
bool state_search_failed(struct state_search *search, const char *why);

/* Where it stands. */
void state_search_tell(struct cv_json *json, const struct state_search *search);

#endif
