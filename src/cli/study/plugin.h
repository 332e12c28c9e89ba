// SPDX-License-Identifier: MIT
/* Finds an algorithm by name, or loads it from a shared object. */
#ifndef CONCLAVE_CLI_STUDY_PLUGIN_H
#define CONCLAVE_CLI_STUDY_PLUGIN_H

#include "core/error.h"
#include <conclave/algorithm.h>

/* An algorithm by name, or from a shared object if the name has a slash. 0 or CV_EINPUT. */
int plugin_find(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

#endif
