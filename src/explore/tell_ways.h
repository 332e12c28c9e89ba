// SPDX-License-Identifier: MIT
/* The ways that an event can go, as JSON: what its handler may choose, and where its node may crash. */
#ifndef CONCLAVE_EXPLORE_TELL_WAYS_H
#define CONCLAVE_EXPLORE_TELL_WAYS_H

#include "explore/explored_way.h"
#include "show/content.h"
#include "show/json.h"

/* Tries the event of that index, and goes back. The world is as before. CV_EINPUT if there is no such event. */
int tell_ways(struct cv_json *json, struct explored *world, const struct cv_content *content,
              struct explored_events *events, uint64_t index);

/* The same for an event whose handler fails: it has one way. */
void tell_one_way(struct cv_json *json, uint64_t index);

#endif
