// SPDX-License-Identifier: MIT
/* What happened: a step, a list of steps as JSON, and the whole story as text. */
#ifndef CONCLAVE_EXPLORE_TELL_STORY_H
#define CONCLAVE_EXPLORE_TELL_STORY_H

#include <stdio.h>

#include "explore/explored.h"
#include "show/content.h"
#include "show/json.h"

/* The answer to a step that was just taken: the last one. 0 or CV_ENOMEM. */
int tell_step(struct cv_json *json, const struct explored *world, const struct cv_content *content);

/* The steps from+1 .. to. 0 or CV_ENOMEM. */
int tell_history(struct cv_json *json, const char *key, const struct explored *world, const struct cv_content *content,
                 uint64_t from, uint64_t to);

/* Tells an observer all that happened; texts about links go to `texts`, which has room for one per event. */
void tell_again(const struct explored *world, const struct cv_observer *observer, char (*texts)[CV_LINK_TEXT]);

/* The story as a transcript, or as a diagram of that width. 0 or CV_ENOMEM. */
int tell_story(FILE *out, const struct explored *world, unsigned width);

#endif
