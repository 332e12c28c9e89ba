// SPDX-License-Identifier: MIT
/*
 * A story that live nodes have recorded, of one name. No handler runs: each step is one that a node has taken, with the
 * effects that it recorded. Steps stand in causal order: each node's own, a message's arrival after its sending, and
 * otherwise by the clocks of the nodes.
 */
#ifndef CONCLAVE_EXPLORE_RECORDED_STORY_H
#define CONCLAVE_EXPLORE_RECORDED_STORY_H

#include "explore/explored_story.h"
#include "show/json.h"

struct recorded;

/*
 * Begins the story of the name with that number; UINT64_MAX: of the lock, or else the name, of which most is told.
 * `texts` is a list of recordings; `find` may be NULL: only the built-in algorithms are known. 0, CV_ENOMEM, or
 * CV_EINPUT with a complaint.
 */
int recorded_begin(struct cv_story **story, const struct json_value *texts, uint64_t name, cv_find_algorithm *find,
                   struct cv_complaint *complaint);
void recorded_free(struct recorded *recorded);

/* Takes the next step; false if there is none. */
bool recorded_take(struct cv_story *story);

/* Is there a next step? */
bool recorded_goes_on(const struct cv_story *story);

/* The list of what can happen next: what was recorded, and nothing else. */
void recorded_tell_events(struct cv_json *json, const char *key, const struct cv_story *story);

/* "names":[{"subject","name","algorithm","lines"}],"chosen","missing":[id] */
void recorded_tell_names(struct cv_json *json, const struct cv_story *story);

#endif
