// SPDX-License-Identifier: MIT
/* Of orders of requests that come to the same but for the names of nodes, one is enough. See alike.c. */
#ifndef CONCLAVE_CHECK_SYMMETRY_ORDER_SYMMETRY_H
#define CONCLAVE_CHECK_SYMMETRY_ORDER_SYMMETRY_H

#include "check/state/setting.h"

/* The next order of which no other was tried that is the same with other names; false after the last. */
bool order_symmetry_next(const struct setting *setting, struct order *order);

/* All orders that are left out for the setting's: each with the names that make this order that one. */
typedef void order_symmetry_twin(void *context, const struct order *order, const cv_node *names);
void order_symmetry_twins(const struct setting *setting, order_symmetry_twin *found, void *context);

#endif
