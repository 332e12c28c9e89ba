// SPDX-License-Identifier: MIT
/*
 * Successors in a search where nothing but the steps of nodes changes a state: no faults, no renumbering, no renaming.
 * Most successors are known already. To see that, the search needs only the fingerprint, which is a sum of what the
 * step changes. The state itself is made only if it is new.
 */
#ifndef CONCLAVE_CHECK_EXPAND_FAST_PATH_H
#define CONCLAVE_CHECK_EXPAND_FAST_PATH_H

#include "check/expand/expander.h"

/* Adds the successors by an event whose outcome allows the fast path. */
void fast_path_take(struct expander *expander, const struct enabled *enabled);

/* Writes such a successor over its state. */
void fast_path_apply(struct expander *expander, const struct successor *successor, uint32_t *state);

#endif
