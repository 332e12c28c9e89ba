// SPDX-License-Identifier: MIT
/* The naive checker with the times of requests laid down: for every order there is, one run. */
#ifndef CONCLAVE_TESTS_CHECK_ORDERS_H
#define CONCLAVE_TESTS_CHECK_ORDERS_H

#include "check/naive.h"

/*
 * Adds up all runs; the depth is the greatest. `strict`: orders without equal times only. `alike`: of those that come
 * to the same with other names for the nodes only one. Returns how many states of a run with clocks look, from outside,
 * like none of the states of these (unless they are alike): there should be none.
 */
uint64_t orders_run(const struct cv_scenario *scenario, const struct naive_options *options, bool strict, bool alike,
                    struct naive_result *sum);

#endif
