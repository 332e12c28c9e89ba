// SPDX-License-Identifier: MIT
/* An assertion of an algorithm that does not hold is something found, not the end of the checker. */
#ifndef CONCLAVE_CHECK_ASSERTION_H
#define CONCLAVE_CHECK_ASSERTION_H

#include <stdbool.h>

/* What an assertion says: which it is, and where. */
struct assertion {
    char text[128];
};

/* Calls a function; whether it ran to its end. If an assertion stopped it, that is written down. */
bool assertion_guard(void (*function)(void *context), void *context, struct assertion *failed);

#endif
