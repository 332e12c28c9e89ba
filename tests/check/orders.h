// SPDX-License-Identifier: MIT
/* The naive checker with fixed times of requests: one run for every order. */
#ifndef CONCLAVE_TESTS_CHECK_ORDERS_H
#define CONCLAVE_TESTS_CHECK_ORDERS_H

#include "check/naive.h"

/*
 * Adds up all runs; the depth is the greatest. `strict`: only orders without equal times. `symmetric`: one of the
 * orders that differ only in the names of nodes. Returns how many states of a run with clocks have an outline that no
 * state of these runs has (0 if symmetric): there should be none.
 */
uint64_t orders_run(const struct cv_scenario *scenario, const struct naive_options *options, bool strict,
                    bool symmetric, struct naive_result *sum);

#endif
