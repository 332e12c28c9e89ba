// SPDX-License-Identifier: MIT
/* The present state as JSON, and what can happen now. */
#ifndef CONCLAVE_EXPLORE_TELL_STATE_H
#define CONCLAVE_EXPLORE_TELL_STATE_H

#include "explore/explored.h"
#include "explore/explored_events.h"
#include "show/content.h"
#include "show/json.h"

#define TELL_TEXT 256u

/* 0 or CV_ENOMEM. */
int tell_state(struct cv_json *json, struct explored *world, const struct cv_content *content,
               const struct explored_events *events);

/* With a node: only what concerns it; CV_NOBODY: all, without what there is too much of in a large group. */
void tell_events(struct cv_json *json, struct explored *world, const struct cv_content *content,
                 const struct explored_events *events, cv_node node);

/* "deliver election(3) from 2 to 3" */
void tell_event_text(const struct explored *world, const struct cv_content *content, const struct explored_event *event,
                     char text[TELL_TEXT]);

#endif
