// SPDX-License-Identifier: MIT
/* Judges the end of a run: a state in which nothing must happen any more, or one that repeats for ever. */
#ifndef CONCLAVE_CHECK_SEARCH_JUDGE_H
#define CONCLAVE_CHECK_SEARCH_JUDGE_H

#include "check/state/model.h"
#include "property/property.h"

/*
 * Does a run that ends in this state violate a property? Then the finding says which and how. A run in which no node
 * took part violates none. `repeats`: the run does not end, but repeats for ever, and no waiting node gets anywhere.
 * `property`: judge this one only; NULL: all. 0 or CV_ENOMEM.
 */
int judge_end(const struct model *model, const uint32_t *state, bool repeats, const char *property,
              struct cv_finding *finding);

#endif
