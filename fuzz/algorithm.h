// SPDX-License-Identifier: MIT
/* Finds built-in algorithms for settings. A fuzzer loads no files. */
#ifndef CONCLAVE_FUZZ_ALGORITHM_H
#define CONCLAVE_FUZZ_ALGORITHM_H

#include "algorithm/registry.h"
#include "live/settings/settings.h"

static inline int fuzz_find_algorithm(const char *name, struct cv_found_algorithm *found,
                                      struct cv_complaint *complaint)
{
    (void)complaint;
    *found = (struct cv_found_algorithm){.algorithm = cv_algorithm_find(name)};
    return 0;
}

#endif
