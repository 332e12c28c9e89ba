// SPDX-License-Identifier: MIT
/* From where a search ended to the decisions that lead there. */
#ifndef CONCLAVE_CHECK_TRAIL_H
#define CONCLAVE_CHECK_TRAIL_H

#include "check/liveness/cycle.h"
#include "check/search/search.h"

/* The way to the spot that the search found. 0 or CV_ENOMEM. */
int trail_to_spot(struct model *model, const struct search *search, struct cv_trail *trail);

/* The way along the lasso, and in `state` where it begins to repeat. */
int trail_along(struct model *model, const struct state_graph *graph, const struct lasso *lasso, struct cv_trail *trail,
                uint32_t *state);

#endif
