// SPDX-License-Identifier: MIT
/* Of orders of requests that come to the same but for the names of nodes, one is enough. See alike.c. */
#ifndef CONCLAVE_CHECK_ALIKE_H
#define CONCLAVE_CHECK_ALIKE_H

#include "check/setting.h"

/* The next order of which no other was tried that is the same with other names; false after the last. */
bool alike_next(const struct setting *setting, struct order *order);

/* All orders that are left out for the setting's: each with the names that make this order that one. */
typedef void alike_twin(void *context, const struct order *order, const cv_node *names);
void alike_twins(const struct setting *setting, alike_twin *found, void *context);

#endif
