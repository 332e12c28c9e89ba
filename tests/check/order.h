// SPDX-License-Identifier: MIT
/* Algorithms whose result is the order in which messages arrive. A reduction must keep all results. */
#ifndef CONCLAVE_TESTS_CHECK_ORDER_H
#define CONCLAVE_TESTS_CHECK_ORDER_H

#include <conclave/algorithm.h>

/* Node 0 tells node 2; node 1 tells node 2 through node 3. Node 2 keeps which was first. */
extern const struct cv_algorithm order_of_arrival;

/* Nodes 0 and 1 tell node 2, which keeps nothing and passes it on; node 3 keeps which was first. */
extern const struct cv_algorithm order_of_sending;

/* Nodes 0 and 3 tell node 2. It keeps which was last, but only after node 1 has told it to, and not the very first. */
extern const struct cv_algorithm order_once_armed;

#endif
