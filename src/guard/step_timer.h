// SPDX-License-Identifier: MIT
/*
 * Ends a step that takes too long. It is the thread's processor time that counts: on a busy machine a step may take any
 * time by the clock on the wall. Steps cost nothing: a signal comes after every hundredth of a second of processor
 * time, and looks whether the step is still the one of the last time.
 */
#ifndef CONCLAVE_GUARD_STEP_TIMER_H
#define CONCLAVE_GUARD_STEP_TIMER_H

#include <stdint.h>

/* Once for the process. */
void step_timer_catch(void);
/* Once for a thread; it ends with the thread. */
void step_timer_start(void);

uint64_t step_timer_limit_ms(void);

#endif
