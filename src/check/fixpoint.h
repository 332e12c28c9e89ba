// SPDX-License-Identifier: MIT
/*
 * Repeats a search until it observes nothing new, and looks for cycles. Both serve a search of everything and a search
 * of one order of requests.
 */
#ifndef CONCLAVE_CHECK_FIXPOINT_H
#define CONCLAVE_CHECK_FIXPOINT_H

#include "check/search/search.h"

/* Repeats the search until there are no new observations of what nodes do. 0 or as search_run(). */
int fixpoint_search(struct search *search, struct model *model, bool reduction);

/*
 * Sets the search's `may_cycle` to whether there is a cycle. If that exceeds the memory or is interrupted, the search
 * ends so, and `may_cycle` stays. If a fair run can follow a cycle for ever, `trail`, unless NULL, becomes that run,
 * and `state` the state where it begins to repeat. 0 or CV_ENOMEM.
 */
int fixpoint_cycles(struct search *search, struct model *model, bool reduction, struct cv_trail *trail,
                    uint32_t *state);

#endif
