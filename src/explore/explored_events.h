// SPDX-License-Identifier: MIT
/* What can happen now. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_EVENTS_H
#define CONCLAVE_EXPLORE_EXPLORED_EVENTS_H

#include "explore/explored.h"

/* Something that can happen. */
struct explored_event {
    uint64_t index;
    uint64_t due;   /* when the simulator would do it; CV_NEVER: it would not */
    uint64_t order; /* of alarms due at once */
    struct explored_message *message;
    cv_node node, peer;
    uint32_t type; /* enum explored_type */
    uint32_t timer;
    uint32_t partition; /* that begins or ends; UINT32_MAX: none */
    bool likely;        /* no fault, and in time */
    bool early;         /* a timeout, while a message or a report of the detector is under way */
    bool planned;       /* the scenario plans this fault */
};

/*
 * The events that can happen now, in a fixed order. After those that are listed come, by number,
 *
 *     count + node * n + peer            node suspects peer, both alive
 *     count + n * n + one * n + other    the link between them, one < other, is cut or healed
 */
struct explored_events {
    struct explored_event *items;
    uint64_t count, room;
    uint64_t next; /* the index of the one that the simulator would do; UINT64_MAX: nothing is left of its run */
};

/* Lists them, without faults if the caller does not want them. CV_ENOMEM if there is no memory. */
int explored_list(struct explored *world, struct explored_events *events, bool faults);
void explored_events_free(struct explored_events *events);

/* So many indices are of events as such; beyond them are those of explored_way.h. */
uint64_t explored_event_indices(const struct explored *world, const struct explored_events *events);

/* The event of that index, listed or not; false if there is none. */
bool explored_find(struct explored *world, const struct explored_events *events, uint64_t index,
                   struct explored_event *event);

/* The event that a decision names; false if it cannot happen now. */
bool explored_match(struct explored *world, const struct explored_events *events, const struct cv_decision *decision,
                    struct explored_event *event);

/* The event as a decision, for a file. */
struct cv_decision explored_decision(const struct explored *world, const struct explored_event *event);

/* A run whose messages go round for ever is over when nobody waits, is inside or will want to enter. */
bool explored_is_over(struct explored *world);

/*
 * A report of the detector that the algorithm does not listen to is an event in the checker, and none in the simulator.
 * The clocks are the checker's, because it replays stories. The simulator draws by its own.
 */
bool explored_is_heard(const struct explored *world, const struct explored_event *event);

/* The place of a message among those under way on its link. */
uint32_t explored_place(const struct explored_message *message);

const char *explored_type_name(uint32_t type);

#endif
