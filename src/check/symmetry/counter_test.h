// SPDX-License-Identifier: MIT
/*
 * Numbers that grow for ever are counted from the lowest on (`counters` in an algorithm's table; see recount.c). That
 * relies on the algorithm making nothing of them but to compare those of one family, and to count on. It is not taken
 * for granted: see counting.c.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_COUNTER_TEST_H
#define CONCLAVE_CHECK_SYMMETRY_COUNTER_TEST_H

#include "check/step/node_step.h"

struct counting_test;

/* NULL in `out` if the model counts nothing anew. 0 or CV_ENOMEM. */
int counting_test_new(struct counting_test **out, struct model *model);
void counting_test_free(struct counting_test *test);

/* A step has been worked out, by the choices that the host shows. Notes in the outcome which families begin with it. */
void counting_follow(struct counting_test *test, const struct host *host, uint32_t node_state,
                     enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome);

#endif
