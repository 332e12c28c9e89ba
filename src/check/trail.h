// SPDX-License-Identifier: MIT
/* Finds the decisions that lead to the end of a search. */
#ifndef CONCLAVE_CHECK_TRAIL_H
#define CONCLAVE_CHECK_TRAIL_H

#include "check/liveness/cycle.h"
#include "check/search/search.h"

/* The decisions that lead to the spot that the search found. 0 or CV_ENOMEM. */
int trail_to_spot(struct model *model, struct search *search, struct cv_trail *trail);

/* The decisions along the lasso. `state` becomes the state where it begins to repeat. 0 or CV_ENOMEM. */
int trail_along(struct model *model, const struct state_graph *graph, const struct lasso *lasso, struct cv_trail *trail,
                uint32_t *state);

#endif
