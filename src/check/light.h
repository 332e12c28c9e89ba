// SPDX-License-Identifier: MIT
/*
 * The fast way through a search in which nothing but the steps of nodes changes anything: no faults, no numbers that
 * are counted anew, no names that are changed. Most states that a step leads to are known already, and to see that
 * takes nothing but the fingerprint, which is the sum of what the step changes; the state itself is made only if it is
 * new.
 */
#ifndef CONCLAVE_CHECK_LIGHT_H
#define CONCLAVE_CHECK_LIGHT_H

#include "check/event.h"

/* Is it such a search? */
bool may_be_light(const struct expander *expander);

/* And such an event? `outcome` is the first of its step. */
static inline bool is_light(const struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    return expander->light && outcome->light && !event->time;
}

/* What the arrival of each channel's first message leads to. */
void deliver_lightly(struct expander *expander);
/* What one event leads to. */
void take_lightly(struct expander *expander, const struct event *event, const struct outcome *outcome);

void apply_lightly(struct expander *expander, const struct successor *successor, uint32_t *state);

#endif
