// SPDX-License-Identifier: MIT
/* The present state as JSON, and what can happen now. */
#ifndef CONCLAVE_EXPLORE_TELL_STATE_H
#define CONCLAVE_EXPLORE_TELL_STATE_H

#include "explore/explored.h"
#include "explore/explored_events.h"
#include "show/content.h"
#include "show/json.h"

#define TELL_TEXT 256u

/* At most so many of the messages under way, the oldest first. 0 or CV_ENOMEM. */
int tell_state(struct cv_json *json, const char *key, struct explored *world, const struct cv_content *content,
               const struct explored_events *events, uint64_t most_messages);

/* Which events are told. */
struct told_events {
    cv_node node;    /* only what concerns it; CV_NOBODY: all, without what there is too much of in a large group */
    uint64_t serial; /* what concerns that message, too; 0: none */
    uint64_t most;   /* of each type, and of the likely ones */
    uint64_t counts[EVENT_TYPES + 1]; /* how many there are by type, and likely ones: tell_events() counts */
};

void tell_events(struct cv_json *json, const char *key, struct explored *world, const struct cv_content *content,
                 const struct explored_events *events, struct told_events *told);

/* How many events were too many to be told, by type, and of the likely ones. */
void tell_untold(struct cv_json *json, const char *key, const struct told_events *told);

/* "deliver election(3) from 2 to 3" */
void tell_event_text(const struct explored *world, const struct cv_content *content, const struct explored_event *event,
                     char text[TELL_TEXT]);

#endif
