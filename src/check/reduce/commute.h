// SPDX-License-Identifier: MIT
/* Does it matter when a message arrives? */
#ifndef CONCLAVE_CHECK_REDUCE_COMMUTE_H
#define CONCLAVE_CHECK_REDUCE_COMMUTE_H

#include "check/step/node_step.h"

/* A thread's own. */
struct commuting {
    struct stepper stepper; /* for what is only supposed */
    struct memo known;
};

int commuting_init(struct commuting *commuting, struct model *model);
void commuting_free(struct commuting *commuting);

/*
 * May the message that is the first on its way to a node just as well arrive now? It may, if whatever could come before
 * it comes to the same behind it, and so on from wherever that leads. `alive` as stepper_step() takes it. Without
 * memory: no.
 */
bool commutes(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive);

/* Notes that it was made to arrive before all else. */
void commuting_note(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive);

#endif
