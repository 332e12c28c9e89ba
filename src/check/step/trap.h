// SPDX-License-Identifier: MIT
/* Calls code of an algorithm. An assertion or a signal in it becomes a finding; it does not end the checker. */
#ifndef CONCLAVE_CHECK_STEP_TRAP_H
#define CONCLAVE_CHECK_STEP_TRAP_H

#include <stdbool.h>

/* Why a call was stopped: the assertion that failed and its function, or the signal. */
struct failure {
    char text[128];
};

/* Calls a function. False if an assertion or a signal stopped it: then the failure says which. */
bool trap_call(void (*function)(void *context), void *context, struct failure *failure);

#endif
