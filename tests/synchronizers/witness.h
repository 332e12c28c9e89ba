// SPDX-License-Identifier: MIT
/* Observes a run event by event: a second count, and a second judge of the rounds, independent of the first. */
#ifndef CONCLAVE_TESTS_SYNCHRONIZERS_WITNESS_H
#define CONCLAVE_TESTS_SYNCHRONIZERS_WITNESS_H

#include "core/event.h"
#include "story.h"

struct witness {
    const struct story *story;
    uint64_t sent[CV_MAX_KINDS];
    uint64_t round[MOST_NODES];                      /* that a node is in */
    uint32_t addressed[MOST_NODES][MOST_ROUNDS + 2]; /* messages of the app to a node, of a round */
    uint32_t arrived[MOST_NODES][MOST_ROUNDS + 2];
    uint64_t hasty; /* rounds begun without all messages of the one before, and messages for rounds that are over */
    uint64_t apart; /* rounds begun more than one away from a neighbour's */
};

/* For a struct cv_observer. */
void witness_see(void *witness, const struct cv_event *event);

#endif
