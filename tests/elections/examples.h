// SPDX-License-Identifier: MIT
/* The texts' own examples, with the numbers they name. */
#ifndef CONCLAVE_TESTS_EXAMPLES_H
#define CONCLAVE_TESTS_EXAMPLES_H

#include <conclave/algorithm.h>

/* Plays the examples of an election, `name` being that of the texts; prints what is wrong and returns how much. */
uint32_t examples_play(const char *name, const struct cv_algorithm *algorithm);

#endif
