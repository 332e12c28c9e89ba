// SPDX-License-Identifier: MIT
/*
 * Depth first: always on from the newest state. What lies deep is found early, and few states wait to be expanded; but
 * the first counterexample is rarely the shortest.
 */
#ifndef CONCLAVE_CHECK_SEARCH_DEPTH_FIRST_H
#define CONCLAVE_CHECK_SEARCH_DEPTH_FIRST_H

#include "check/search/crew.h"

/* The newest state of the thread, or one of another's: the last of the chunk, and not in it any more. NULL: no more. */
struct chunk *depth_first_on(struct worker *worker);

#endif
