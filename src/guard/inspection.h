// SPDX-License-Identifier: MIT
/* What a step may do, beyond what the functions of conclave/algorithm.h assert. */
#ifndef CONCLAVE_GUARD_INSPECTION_H
#define CONCLAVE_GUARD_INSPECTION_H

#include "guard/handler.h"

/* Looks at what a step did, by its node after the step. Is all of it allowed? If not, says what is not. */
bool inspection_passes(const struct handler_use *use, const struct cv_self *after, char *why, size_t room);

#endif
