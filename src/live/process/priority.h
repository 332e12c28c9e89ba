// SPDX-License-Identifier: MIT
/*
 * How the kernel ranks a node beside other processes. A node does little, but a lease does not wait: a node that gets
 * the processor too late has lost it. A rank that is not allowed is left as it is.
 */
#ifndef CONCLAVE_LIVE_PROCESS_PRIORITY_H
#define CONCLAVE_LIVE_PROCESS_PRIORITY_H

#include <stdbool.h>

enum cv_priority {
    CV_PRIORITY_AUTO,    /* nice -10 where that is allowed */
    CV_PRIORITY_NORMAL,  /* as it was started */
    CV_PRIORITY_REALTIME /* SCHED_RR: before all that is not real-time; or else nice -10 */
};

#define CV_PRIORITY_BYTES 64u

/*
 * For this thread, those that it starts, and memory. `text` says what has come of it, as in "rr 1, memory locked".
 * False if real-time was wanted and is not allowed.
 */
bool cv_priority_set(enum cv_priority priority, char text[CV_PRIORITY_BYTES]);

#endif
