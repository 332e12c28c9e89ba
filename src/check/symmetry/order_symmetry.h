// SPDX-License-Identifier: MIT
/* Of orders of requests that differ only in the names of nodes, one is searched. order_symmetry.c says why. */
#ifndef CONCLAVE_CHECK_SYMMETRY_ORDER_SYMMETRY_H
#define CONCLAVE_CHECK_SYMMETRY_ORDER_SYMMETRY_H

#include "check/setting/setting.h"

/* The next order to search: none that was tried before is its image under other names. False after the last. */
bool order_symmetry_next(const struct setting *setting, struct order *order);

/* Visits all images of the setting's order that are left out, each with the names that make this order that one. */
typedef void order_symmetry_visitor(void *context, const struct order *order, const cv_node *names);
void order_symmetry_images(const struct setting *setting, order_symmetry_visitor *visit, void *context);

#endif
