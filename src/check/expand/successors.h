// SPDX-License-Identifier: MIT
/* All events that can happen in a state, and what each leads to. This is the meaning of a check. */
#ifndef CONCLAVE_CHECK_EXPAND_SUCCESSORS_H
#define CONCLAVE_CHECK_EXPAND_SUCCESSORS_H

#include "check/expand/expander.h"

#define EVERY_NODE UINT32_MAX

/* The live nodes, and whether clocks are stopped: as stepper_step() takes it. */
uint32_t expand_alive(struct expander *expander, uint32_t *state);

/* Removes all successors. */
static inline void expand_clear(struct expander *expander)
{
    expander->count = expander->change_count = expander->obligations = 0;
    expander->enabled_count = 0;
}

/*
 * Adds the successors by events at the nodes of a mask. It changes the state meanwhile and restores it. There are none
 * if a perpetual algorithm has nothing left to do.
 */
void expand(struct expander *expander, uint32_t *state, struct fingerprint fingerprint, uint32_t nodes);

/*
 * The same for all nodes, in three steps. The caller takes each step for several states before the next one, so that
 * the cache has time to fetch what the next step needs.
 */
void expand_find_enabled(struct expander *expander, uint32_t *state, struct enabled_set *enabled_set);
void expand_find_outcomes(struct expander *expander);
void expand_all(struct expander *expander, uint32_t *state, struct fingerprint fingerprint,
                const struct enabled_set *enabled_set);

/* The same for one event: the arrival of the first message of a channel. */
void expand_delivery(struct expander *expander, uint32_t *state, struct fingerprint fingerprint, uint32_t slot);

/* Writes a successor over its state. */
void expand_apply(struct expander *expander, const struct successor *successor, uint32_t *state);

/* The decision that leads to a successor. */
struct cv_decision expand_decision(const struct successor *successor);

#endif
