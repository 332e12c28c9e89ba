// SPDX-License-Identifier: MIT
/* Visits states: finds their successors, keeps the new ones and reports violations. */
#ifndef CONCLAVE_CHECK_SEARCH_VISIT_H
#define CONCLAVE_CHECK_SEARCH_VISIT_H

#include "check/search/crew.h"

/* Visits some states of a chunk, unless the search ends. New states go to the thread's frontier. */
void visit(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count);

#endif
