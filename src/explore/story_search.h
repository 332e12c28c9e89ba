// SPDX-License-Identifier: MIT
/*
 * Looks for something that can still happen from the present state of a story: as the checker searches where that is
 * possible (model_search.h), otherwise with full states (state_search.h). What the checker's search finds is confirmed
 * step by step in the story's own world, which is then as before.
 */
#ifndef CONCLAVE_EXPLORE_STORY_SEARCH_H
#define CONCLAVE_EXPLORE_STORY_SEARCH_H

#include "explore/explored.h"
#include "explore/json_reader.h"
#include "show/json.h"

struct story_search;

/*
 * Begins a search for {"goal":…,"limits":…}: see explore.h. It is to be freed before the story changes. 0, CV_ENOMEM,
 * or CV_EINPUT with a complaint; free it in any case.
 */
int story_search_new(struct story_search **search, struct explored *world, const struct json_value *arguments,
                     struct cv_complaint *complaint);
void story_search_free(struct story_search *search);

/* Expands so many states. 0 or CV_ENOMEM. */
int story_search_more(struct story_search *search, uint64_t states);

/* A handler failed in the search, and the call ended there. False: no search was at work. */
bool story_search_failed(struct story_search *search, const char *why);

/* Where it stands. */
void story_search_tell(struct cv_json *json, const struct story_search *search);

#endif
