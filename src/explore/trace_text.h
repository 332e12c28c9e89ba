// SPDX-License-Identifier: MIT
/* Follows a trace of the simulator (show/trace.h): the explorer takes the steps that the trace tells. */
#ifndef CONCLAVE_EXPLORE_TRACE_TEXT_H
#define CONCLAVE_EXPLORE_TRACE_TEXT_H

#include "explore/explored_story.h"

/* The first line as a tree, or NULL. Free it. */
struct json_value *trace_header(const char *text);

/*
 * Takes the steps of the trace from the beginning of the story on. Where the explorer cannot do what the trace tells,
 * or does something else, the story ends, and its `trouble` says in which line and why. 0 or CV_ENOMEM.
 */
int trace_follow(struct cv_story *story, const char *text);

#endif
