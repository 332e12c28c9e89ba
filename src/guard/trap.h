// SPDX-License-Identifier: MIT
/*
 * Calls code of an algorithm, which may be somebody else's. An assertion, a signal or a call that does not return
 * becomes a finding; it does not end the program.
 */
#ifndef CONCLAVE_GUARD_TRAP_H
#define CONCLAVE_GUARD_TRAP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define CV_FAILURE_BYTES 640u

struct cv_scenario;

/* Why a call was stopped. */
struct cv_failure {
    const struct cv_scenario *scenario; /* from the caller: it names nodes and fields; or NULL */
    char text[CV_FAILURE_BYTES];
    bool interrupted; /* the user wants to stop: nothing is wrong with the handler */
};

/* Calls a function. False if something stopped it: then the failure says what. */
bool cv_trap_call(void (*function)(void *context), void *context, struct cv_failure *failure);

/* The same for a function that takes many steps: it may take its time. */
bool cv_trap_call_long(void (*function)(void *context), void *context, struct cv_failure *failure);

#define CV_USUAL_STEP_LIMIT_MS 1000u

/* How long a step may take, in milliseconds of its thread's processor time. To be called before the first step. */
void cv_step_limit(uint64_t ms);

/* What a signal handler sets when the user wants to stop: then a step that goes on ends, too. */
void cv_step_interruptible(const volatile sig_atomic_t *interrupted);

#endif
