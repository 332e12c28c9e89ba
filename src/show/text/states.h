// SPDX-License-Identifier: MIT
/* Prints the state of every node at the end of a run, field by field. */
#ifndef CONCLAVE_SHOW_TEXT_STATES_H
#define CONCLAVE_SHOW_TEXT_STATES_H

#include <stdio.h>

#include "show/history.h"

/* The history has watched the states. */
void cv_states_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history);

#endif
