// SPDX-License-Identifier: MIT
/* For the naive checker: of states that differ in the names of nodes only, one. */
#ifndef CONCLAVE_TESTS_CHECK_NAMES_H
#define CONCLAVE_TESTS_CHECK_NAMES_H

#include "check/full.h"

/* Makes the state the one of them whose bytes come first. */
void names_choose(const struct cv_scenario *what, const struct cv_group *of, struct full *full);

#endif
