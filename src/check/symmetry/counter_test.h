// SPDX-License-Identifier: MIT
/*
 * The checker renumbers counters that grow for ever from 1 (`counters` in an algorithm's table; see renumber.h). That
 * is sound only if the algorithm does nothing with them but compare those of one family and increment. This test
 * verifies it for every computed step; counter_test.c says how.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_COUNTER_TEST_H
#define CONCLAVE_CHECK_SYMMETRY_COUNTER_TEST_H

#include "check/step/stepper.h"

/*
 * Registers the test with the model, if the model renumbers counters. It also notes in each outcome which families
 * begin with it. 0 or CV_ENOMEM.
 */
int counter_test_register(struct model *model);

#endif
