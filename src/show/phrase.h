// SPDX-License-Identifier: MIT
/* Events in plain words: "hears election from 4", "calls an election", "follows 6". */
#ifndef CONCLAVE_SHOW_PHRASE_H
#define CONCLAVE_SHOW_PHRASE_H

#include <stdio.h>

#include "core/event.h"
#include "core/scenario/scenario.h"

/* What the event's node does or meets, to stand behind its name. One line, whatever the algorithm's notes hold. */
void cv_phrase_event(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event);

/* Text without line breaks and other control characters. */
void cv_phrase_text(FILE *out, const char *text);

/* Who is cut off from whom while the partition lasts: "0..2 | 3..5". */
void cv_phrase_sides(FILE *out, const struct cv_scenario *scenario, const struct cv_partition *partition);

/* Ids, runs of them shortened: "0..5, 9". The nodes' order is kept. */
void cv_phrase_nodes(FILE *out, const struct cv_scenario *scenario, const cv_node *nodes, size_t count);

/* The partition that begins, or ends, with this event; NULL if the scenario plans none. */
const struct cv_partition *cv_phrase_partition(const struct cv_scenario *scenario, const struct cv_event *event);

/* Who is in the view that begins with this event: ": 0..3, 5; 3 coordinates". */
void cv_phrase_members(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event, const bool *down);

/* What a node has come to: "has distance 5 over 3". */
void cv_phrase_result(FILE *out, const struct cv_scenario *scenario, cv_node node, uint64_t result, cv_node via);

/* A fence in few letters: "3", or "1·3" for the number 3 of view 1. */
void cv_phrase_fence(char *text, size_t room, uint64_t fence);

#endif
