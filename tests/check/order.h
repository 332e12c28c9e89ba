// SPDX-License-Identifier: MIT
/* Algorithms in which nothing matters but the order in which messages arrive: none of it may be left out. */
#ifndef CONCLAVE_TESTS_CHECK_ORDER_H
#define CONCLAVE_TESTS_CHECK_ORDER_H

#include <conclave/algorithm.h>

/* Node 0 tells node 2; node 1 tells node 2 by way of node 3. Node 2 keeps who was first. */
extern const struct cv_algorithm order_of_arrival;

/* Nodes 0 and 1 tell node 2, which keeps nothing and passes it on; node 3 keeps who was first. */
extern const struct cv_algorithm order_of_sending;

/*
 * Nodes 0 and 3 tell node 2, which keeps who was last; but not before node 1 has told it to, nor of the first of all.
 */
extern const struct cv_algorithm order_once_armed;

#endif
