// SPDX-License-Identifier: MIT
/* Visits states: finds their successors, keeps the new ones and reports violations. */
#ifndef CONCLAVE_CHECK_SEARCH_VISIT_H
#define CONCLAVE_CHECK_SEARCH_VISIT_H

#include "check/search/crew.h"

/* Visits some states of a chunk, unless the search ends. New states go to the thread's frontier. */
void visit(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count);

/* Goes on with the states that have waited for answers of other ranks. */
void visit_decided(struct worker *worker);

/* Adds a state that another rank has found to the table. A new one is then to be queued. */
enum table_answer visit_add(struct worker *worker, struct fingerprint key, uint64_t parent);
void visit_queue(struct worker *worker, const uint32_t *state, struct fingerprint fingerprint);

#endif
