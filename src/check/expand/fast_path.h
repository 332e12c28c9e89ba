// SPDX-License-Identifier: MIT
/*
 * The fast way through a search in which nothing but the steps of nodes changes anything: no faults, no numbers that
 * are counted anew, no names that are changed. Most states that a step leads to are known already, and to see that
 * takes nothing but the fingerprint, which is the sum of what the step changes; the state itself is made only if it is
 * new.
 */
#ifndef CONCLAVE_CHECK_EXPAND_FAST_PATH_H
#define CONCLAVE_CHECK_EXPAND_FAST_PATH_H

#include "check/expand/transition.h"

/* Is it such a search? */
bool may_take_fast_path(const struct expander *expander);

/* What a prospect leads to if it is such an event: its outcome is light. */
void take_lightly(struct expander *expander, const struct enabled *enabled);

void apply_lightly(struct expander *expander, const struct successor *successor, uint32_t *state);

#endif
