// SPDX-License-Identifier: MIT
/* Searches every order of requests by itself. Threads take the orders in turn. */
#ifndef CONCLAVE_CHECK_ORDER_SEARCH_H
#define CONCLAVE_CHECK_ORDER_SEARCH_H

#include "check/search/search.h"

/*
 * Searches every order of the model's requests. It stops at a violation, or when some run may never end. `sum`: all
 * searches added up; its end is what stopped them. `squares`: the sum of the squares of their numbers of states. If a
 * reduction turns out to be wrong, the model notes it. 0 or as search_run().
 */
int order_search_run(struct model *model, struct search *sum, double *squares);

#endif
