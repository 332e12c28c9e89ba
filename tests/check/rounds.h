// SPDX-License-Identifier: MIT
/* What the naive checker asks about synchronizers and paths. It shares no code with src/property and src/check. */
#ifndef CONCLAVE_TESTS_CHECK_ROUNDS_H
#define CONCLAVE_TESTS_CHECK_ROUNDS_H

#include "check/full.h"

/* Are the results of nodes distances? */
bool are_paths(const struct cv_scenario *scenario);

/* Do the rounds of two neighbours differ by more than one? */
bool are_apart(const struct cv_scenario *scenario, const struct full *full);

/* Is a message of a round on its way to a node that has ended that round? */
bool is_late(const struct cv_scenario *scenario, const struct full *full);

/*
 * The end of a run: has every node ended all rounds, in the state that it has after so many rounds in which all send
 * and then all receive? Are the results the distances by Floyd's algorithm, each over a neighbour that is on the way?
 */
bool is_right(const struct cv_scenario *scenario, const struct full *full);

#endif
