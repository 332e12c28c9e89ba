// SPDX-License-Identifier: MIT
/* Requests in an order that is laid down beforehand: one search for each of the orders, which threads take in turn. */
#ifndef CONCLAVE_CHECK_ORDER_SEARCH_H
#define CONCLAVE_CHECK_ORDER_SEARCH_H

#include "check/search/search.h"

/*
 * Searches every order of the model's requests. Where something goes wrong, or some run may never end, it stops. `sum`
 * is all searches taken together; its end is what stopped them, if anything did. `squares` adds up the squares of their
 * numbers of states. The model is told what its reductions were wrong about. 0 or as search_run().
 */
int order_search_run(struct model *model, struct search *sum, double *squares);

#endif
