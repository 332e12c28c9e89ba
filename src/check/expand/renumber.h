// SPDX-License-Identifier: MIT
/* Keeps numbers that grow for ever from making every state a new one: counters and Lamport clocks. */
#ifndef CONCLAVE_CHECK_EXPAND_RENUMBER_H
#define CONCLAVE_CHECK_EXPAND_RENUMBER_H

#include "check/expand/expander.h"

/* Renumbers the counters of the state that is being made, each family from 1. */
void renumber(struct expander *expander, struct successor *successor);

/* Drops or caps the clocks of the state that is being made, as `alive` says. */
void drop_clocks(struct expander *expander, struct successor *successor, uint32_t alive);

/* CLOCKS_STOPPED and the cap, if no request is left in the expander's state; otherwise 0. */
uint32_t stopped_clocks(const struct expander *expander);

#endif
