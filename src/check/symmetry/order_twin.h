// SPDX-License-Identifier: MIT
/*
 * Orders of requests that are left out because they are the same as the one that is searched, with other names
 * (`alike` in an algorithm's table). That is not taken for granted: every step that is worked out is taken in each of
 * these orders as well, by the node of the other name. See twin.c.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_ORDER_TWIN_H
#define CONCLAVE_CHECK_SYMMETRY_ORDER_TWIN_H

#include "check/step/node_step.h"

struct twins;

/* Of the model's order. NULL in `out` if there are none. 0 or CV_ENOMEM. */
int twins_new(struct twins **out, struct model *model);
void twins_free(struct twins *twins);

/* A node has begun, as its host shows. */
void twins_begin(struct twins *twins, const struct host *host, cv_node node, uint32_t node_state);

/* A step has been worked out: from a place, with these outcomes of the choices that the host shows. */
void twins_follow(struct twins *twins, const struct host *host, uint32_t node_state, enum cv_decision_type type,
                  uint32_t argument, uint32_t alive, const struct outcome *outcome);

#endif
