// SPDX-License-Identifier: MIT
/* Of orders of requests that come to the same but for the names of nodes, one is enough. See alike.c. */
#ifndef CONCLAVE_CHECK_ALIKE_H
#define CONCLAVE_CHECK_ALIKE_H

#include "check/setting.h"

/* The next order of which no other was tried that is the same with other names; false after the last. */
bool alike_next(const struct setting *setting, struct order *order);

#endif
