// SPDX-License-Identifier: MIT
/* Does the arrival of a message commute with everything else that can happen at its receiver? */
#ifndef CONCLAVE_CHECK_REDUCE_COMMUTE_H
#define CONCLAVE_CHECK_REDUCE_COMMUTE_H

#include "check/step/stepper.h"

/* A thread's own. */
struct commuting {
    struct stepper stepper; /* for steps that may never happen */
    struct memo known;
};

/* 0 or CV_ENOMEM; free it in both cases. */
int commuting_init(struct commuting *commuting, struct model *model);
void commuting_free(struct commuting *commuting);

/*
 * May the first message on its way to a node arrive now, before all other events there? It may, if it commutes with
 * every event that could come first, and with every event in the states that those lead to. `alive` is as
 * stepper_step() takes it. Without memory: no.
 */
bool commuting_may_arrive(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive);

/* Notes that the search delivered it before all other events. */
void commuting_note(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive);

#endif
