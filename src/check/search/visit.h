// SPDX-License-Identifier: MIT
/* What a thread does with states: finds what they lead to, keeps what is new and reports what is wrong. */
#ifndef CONCLAVE_CHECK_SEARCH_VISIT_H
#define CONCLAVE_CHECK_SEARCH_VISIT_H

#include "check/search/crew.h"

/* So many states of a chunk, unless the search ends. New ones go to the thread's frontier. */
void visit(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count);

#endif
