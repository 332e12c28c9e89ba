// SPDX-License-Identifier: MIT
/* Shortens a counterexample: removes decisions that the violation does not need. */
#ifndef CONCLAVE_CHECK_SHRINK_H
#define CONCLAVE_CHECK_SHRINK_H

#include "check/check.h"

/*
 * Removes decisions, one after the other, as long as the same property is violated. A run that repeats for ever stays
 * as it is. 0 or CV_ENOMEM.
 */
int shrink_trail(const struct cv_scenario *scenario, const struct cv_check_options *options, const char *property,
                 struct cv_trail *trail);

/* Replays a trail. True if it violates the property: then the finding says how. */
bool shrink_confirms(const struct cv_scenario *scenario, const struct cv_check_options *options,
                     const struct cv_trail *trail, const char *property, struct cv_finding *finding);

#endif
