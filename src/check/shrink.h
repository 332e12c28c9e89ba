// SPDX-License-Identifier: MIT
/* Makes a counterexample shorter: leaves out what it goes wrong without. */
#ifndef CONCLAVE_CHECK_SHRINK_H
#define CONCLAVE_CHECK_SHRINK_H

#include "check/check.h"

/*
 * Leaves out decisions, one after the other, as long as the same property is violated. Runs that repeat for ever stay
 * as they are. 0 or CV_ENOMEM.
 */
int shrink_trail(const struct cv_scenario *scenario, const struct cv_check_options *options, const char *property,
                 struct cv_trail *trail);

/* How the replay of a trail violates the property; false if it does not. */
bool shrink_confirms(const struct cv_scenario *scenario, const struct cv_check_options *options,
                     const struct cv_trail *trail, const char *property, struct cv_finding *finding);

#endif
