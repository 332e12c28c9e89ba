// SPDX-License-Identifier: MIT
/*
 * A scenario with its story. A file of version 2 ("conclave replay 2") holds one that only the explorer can play: with
 * lost or duplicated messages, with rounds, or with more nodes than the checker takes. A trace of the simulator says
 * what was run, and then what happened: the story follows it as far as it can.
 */
#ifndef CONCLAVE_EXPLORE_EXPLORED_STORY_H
#define CONCLAVE_EXPLORE_EXPLORED_STORY_H

#include "explore/explored.h"
#include "explore/scenario_words.h"
#include "show/content.h"

struct cv_story {
    struct cv_complaint trouble; /* why it ends before the trace that it follows does; or empty */
    struct scenario_words words;
    struct explored world;
    struct cv_content content;
    struct recorded *recorded;   /* what it is told from, if it was recorded; or NULL */
    char (*texts)[CV_LINK_TEXT]; /* about links, for those who are told the story */
};

/* Begins a story. 0, CV_ENOMEM, CV_EFILE, or CV_EINPUT with a complaint. */
int cv_story_begin(struct cv_story **story, const struct json_value *words, const struct word_sources *sources,
                   struct cv_complaint *complaint);
/* Begins what a replay file or a trace says, and takes its steps. The same errors. */
int cv_story_load(struct cv_story **story, const char *text, const struct word_sources *sources,
                  struct cv_complaint *complaint);
void cv_story_free(struct cv_story *story);

/* Is it the text of a file that only the explorer plays? */
bool cv_story_is(const char *text);

/* Tells all that happened. What is told is valid until the story is freed. 0 or CV_ENOMEM. */
int cv_story_tell(struct cv_story *story, const struct cv_observer *observer);

#endif
