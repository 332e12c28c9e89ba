// SPDX-License-Identifier: MIT
/*
 * Which orders need not be tried. See reduce.c.
 */
#ifndef CONCLAVE_CHECK_REDUCE_PERSISTENT_SET_H
#define CONCLAVE_CHECK_REDUCE_PERSISTENT_SET_H

#include "check/expand/successors.h"

/*
 * The next set of nodes whose doings alone may be enough in this state, the smallest first; false after the last.
 * `tried` begins with 0; `alive` as stepper_step() takes it.
 */
bool reduce_next(const struct model *model, struct foresight *foresight, const uint32_t *state, uint32_t alive,
                 uint32_t *tried, uint32_t *nodes);

/*
 * The next channel, behind `part`, whose first message may as well arrive before all else; 0 after the last. `part`
 * begins with 0. What is made of it is to be noted with commuting_note().
 */
uint32_t reduce_next_message(const struct model *model, struct commuting *commuting, const uint32_t *state,
                             uint32_t alive, uint32_t slot);

/* Do none of the successors change what is judged at every state? */
bool reduce_is_invisible(const struct expander *expander);

/* Does reduction pay? It is looked at between levels. */
struct thrift {
    bool on;
    bool used; /* at some time */
    uint64_t expanded, saved;
};

void thrift_look(struct thrift *thrift, uint64_t expanded, uint64_t saved);

#endif
