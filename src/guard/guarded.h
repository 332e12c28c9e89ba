// SPDX-License-Identifier: MIT
/*
 * An algorithm from a shared object, with a guard around each of its handlers. The runtimes call the guarded table as
 * they call any other. A handler works on copies of its node, its state and the message, which end where memory ends.
 * What it did counts after it has returned and everything was found in order:
 *
 *   - it raises no signal, fails no assertion and returns in time;
 *   - it writes to nothing but its state, and reads no clock;
 *   - its messages are of the kinds and the lengths that its table says;
 *   - many steps, in the checker all, are taken twice, and do the same both times.
 *
 * A step that fails leaves its node as it was.
 */
#ifndef CONCLAVE_GUARD_GUARDED_H
#define CONCLAVE_GUARD_GUARDED_H

#include <conclave/algorithm.h>

#include "guard/trap.h"

#define CV_MOST_GUARDED 32u

/* The guarded table; the same one for the same algorithm. NULL: there are too many. */
const struct cv_algorithm *cv_guarded(const struct cv_algorithm *algorithm);

bool cv_is_guarded(const struct cv_algorithm *algorithm);

/* From now on every step is taken twice. */
void cv_guard_every_step(void);

/* Who hears of a failure, if no cv_trap_call() is under way. */
struct cv_failure_listener {
    void (*failed)(void *context, const struct cv_failure *failure);
    void *context;
    const struct cv_scenario *scenario; /* names nodes and fields */
    bool over;                          /* a handler has failed: while this listens, handlers do nothing more */
};

/* Begins to listen in this thread; NULL: nobody does. Returns who did until now. */
struct cv_failure_listener *cv_failure_listen(struct cv_failure_listener *listener);

/* In threads without a listener, failures are ignored; otherwise they end the program. */
void cv_failure_ignore(void);

#endif
