// SPDX-License-Identifier: MIT
/* Every algorithm that comes with Conclave. */
#ifndef CONCLAVE_ALGORITHM_REGISTRY_H
#define CONCLAVE_ALGORITHM_REGISTRY_H

#include <conclave/algorithm.h>

/* Ends with NULL, in the order in which `conclave list` shows them. */
extern const struct cv_algorithm *const cv_algorithms[];

/* The algorithm of that name, or NULL. */
const struct cv_algorithm *cv_algorithm_find(const char *name);

#endif
