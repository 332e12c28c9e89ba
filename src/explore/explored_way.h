// SPDX-License-Identifier: MIT
/*
 * An event can go several ways: its handler chooses, or its node crashes before it has sent everything. Each way has an
 * index of its own, so that indices say all. With n nodes and the events 0 .. e-1 of explored_events.h, the index is
 *
 *     event + e * (choices * (8 n + 3) + crash)
 *
 *     choices    0: as the simulator draws them; otherwise 1 + the first choice + its ways * (the second + …)
 *     crash      0: none; otherwise 1 + 2 * messages sent before it, and 1 more if nobody need be told
 *
 * If that is more than 2^53, a text says it, as a line of a replay file does: "17 chose 4000000000 chose 3 sent 2".
 */
#ifndef CONCLAVE_EXPLORE_EXPLORED_WAY_H
#define CONCLAVE_EXPLORE_EXPLORED_WAY_H

#include "explore/explored_step.h"

#define NO_WAY UINT64_MAX

/* The event of that index, and how it goes; false if there is none. Only the step shows whether it can go that way. */
bool explored_find_way(struct explored *world, const struct explored_events *events, uint64_t index,
                       struct explored_event *event, struct explored_script *script);

/* The index of the way that the last step went, by that of its event; NO_WAY: it has none. */
uint64_t explored_way_index(const struct explored *world, uint64_t event);

/* The same of a text. */
bool explored_read_way(struct explored *world, const struct explored_events *events, const char *text,
                       struct explored_event *event, struct explored_script *script);

/* Can the event not go the way that the last step was told to go? */
bool explored_went_astray(const struct explored *world);

#endif
