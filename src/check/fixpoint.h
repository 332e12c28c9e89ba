// SPDX-License-Identifier: MIT
/*
 * Searches until their answers can be relied on, whether all there is is searched at once or one order of requests
 * after the other.
 */
#ifndef CONCLAVE_CHECK_FIXPOINT_H
#define CONCLAVE_CHECK_FIXPOINT_H

#include "check/search/search.h"

/* Searches until nothing new is learnt of what nodes do. 0 or as search_run(). */
int fixpoint_search(struct search *search, struct model *model, bool reduction);

/*
 * Whether there is a cycle at all: from now on `may_cycle` tells. If that takes more memory than there may be, or is
 * interrupted, so ends the search, and `may_cycle` is what it was. `trail`, unless NULL, becomes the way along a cycle
 * that a fair run can follow for ever, if there is one, and `state` where it begins to repeat. 0 or CV_ENOMEM.
 */
int fixpoint_cycles(struct search *search, struct model *model, bool reduction, struct cv_trail *trail,
                    uint32_t *state);

#endif
