// SPDX-License-Identifier: MIT
/* Judges the end of a run: a state in which nothing has to happen any more, or one that comes round for ever. */
#ifndef CONCLAVE_CHECK_SEARCH_JUDGE_H
#define CONCLAVE_CHECK_SEARCH_JUDGE_H

#include "check/state/model.h"
#include "property/property.h"

/*
 * Does the run that ends like this break a promise? Then the finding says which and how. A run in which nobody took
 * part breaks none. `repeats`: it does not end there but goes on for ever without anything changing for those who wait.
 * `property`: only that promise renumbers; NULL: any.
 */
int judge_end(const struct model *model, const uint32_t *state, bool repeats, const char *property,
              struct cv_finding *finding);

/* The quick answer to the same question: false only if there is nothing to judge. */
bool judge_doubts(const struct model *model, const uint32_t *state, bool repeats);

#endif
