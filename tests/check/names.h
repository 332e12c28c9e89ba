// SPDX-License-Identifier: MIT
/* For the naive checker: chooses one of the states that differ only in the names of nodes. */
#ifndef CONCLAVE_TESTS_CHECK_NAMES_H
#define CONCLAVE_TESTS_CHECK_NAMES_H

#include "check/full.h"

/* Replaces the state by the one whose bytes come first. */
void names_choose(const struct cv_scenario *what, const struct cv_group *of, struct full *full);

#endif
