// SPDX-License-Identifier: MIT
/* One step: an event, the handler that it calls, and the effects. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_STEP_H
#define CONCLAVE_EXPLORE_EXPLORED_STEP_H

#include "explore/explored.h"
#include "explore/explored_events.h"

/* How a step is to be taken. */
struct explored_script {
    uint32_t choosing;                 /* enum explored_choosing */
    uint32_t choices[CV_MOST_CHOICES]; /* CHOICES_LISTED: what cv_choose() returns; 0 after them */
    uint32_t choice_count;
    uint64_t number; /* CHOICES_NUMBERED */
    bool missed;     /* the crash need not be reported */
    uint32_t sent;   /* the node crashes after it has sent so many messages; CV_WHOLE: it does not */
};

/* Brings the nodes into the world: those that live begin. 0, CV_ENOMEM, or CV_EINPUT with a complaint. */
int explored_open(struct explored *world, struct cv_complaint *complaint);

/* Takes the step. Where a handler's failure ends the call (WebAssembly), explored_fail() completes it. */
void explored_take(struct explored *world, const struct explored_event *event, const struct explored_script *script);
void explored_fail(struct explored *world, const char *why);

/*
 * Calls a handler of a node in the middle of a step, and carries out its effects. Did it have any? Then the cause is
 * told before them, unless it is CV_EVENT_NOTE, for none.
 */
bool explored_act(struct explored *world, cv_node node, void (*handler)(void *world), enum cv_event_type cause);

/* Has nothing happened so far that the algorithm does not assume? Then every message must be one that can be. */
bool explored_keeps_assumptions(const struct explored *world);

/* Does the event call a handler? */
bool explored_calls(const struct explored_event *event);

/* The node leaves, or dies before it could. */
void explored_end_entry(struct explored *world, cv_node node, bool died);

#endif
