// SPDX-License-Identifier: MIT
/* Calls that make a step depend on more than its state and its event: they read a clock, draw by chance or sleep. */
#ifndef CONCLAVE_GUARD_FORBIDDEN_CALLS_H
#define CONCLAVE_GUARD_FORBIDDEN_CALLS_H

#include "guard/shared_object.h"

/* From now on such a call by the object's code ends the step that makes it. */
void forbidden_calls_watch(const struct shared_object *object);

#endif
