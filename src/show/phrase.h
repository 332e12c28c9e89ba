// SPDX-License-Identifier: MIT
/* Events in plain words: "hears election from 4", "calls an election", "follows 6". */
#ifndef CONCLAVE_SHOW_PHRASE_H
#define CONCLAVE_SHOW_PHRASE_H

#include <stdio.h>

#include "core/event.h"
#include "core/scenario/scenario.h"
#include "show/history.h"

/* What the node of the event does, to follow its name. One line, whatever the algorithm's notes hold. */
void cv_phrase_event(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event);

/* Text without line breaks and other control characters. */
void cv_phrase_text(FILE *out, const char *text);

/* The sides of a partition: "0..2 | 3..5". */
void cv_phrase_sides(FILE *out, const struct cv_scenario *scenario, const struct cv_partition *partition);

/* Ids in node order, with ranges shortened: "0..5, 9". */
void cv_phrase_nodes(FILE *out, const struct cv_scenario *scenario, const cv_node *nodes, size_t count);

/* The partition that begins, or ends, with this event; NULL if the scenario plans none. */
const struct cv_partition *cv_phrase_partition(const struct cv_scenario *scenario, const struct cv_event *event);

/* The members of the view that begins with this event: ": 0..3, 5; 3 coordinates". */
void cv_phrase_members(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event, const bool *down);

/* The last state of a node that the history has seen, of that critical section: "mode waiting, leader -". */
void cv_phrase_state(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, cv_node node,
                     uint32_t name);

/* The result of a node: "has distance 5 over 3". */
void cv_phrase_result(FILE *out, const struct cv_scenario *scenario, cv_node node, uint64_t result, cv_node via);

#endif
