// SPDX-License-Identifier: MIT
/*
 * Depth-first search: it continues from the newest state. It finds deep violations early, and few states wait to be
 * expanded, but its first counterexample is rarely the shortest.
 */
#ifndef CONCLAVE_CHECK_SEARCH_DEPTH_FIRST_H
#define CONCLAVE_CHECK_SEARCH_DEPTH_FIRST_H

#include "check/search/crew.h"

/*
 * Removes the newest state of the thread, or one of another thread, from its chunk. It is the one after the last state
 * of the chunk that is returned. NULL: there are no more states.
 */
struct chunk *depth_first_next(struct worker *worker);

#endif
