// SPDX-License-Identifier: MIT
/* What goes wrong inside an algorithm's handler is something found, not the end of the checker. */
#ifndef CONCLAVE_CHECK_STEP_TRAP_H
#define CONCLAVE_CHECK_STEP_TRAP_H

#include <stdbool.h>

/* An assertion that does not hold, and where; or how else it ended. */
struct mishap {
    char text[128];
};

/* Calls a function; whether it ran to its end. If an assertion or a signal stopped it, that is written down. */
bool guard_call(void (*function)(void *context), void *context, struct mishap *mishap);

#endif
