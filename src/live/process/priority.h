// SPDX-License-Identifier: MIT
/*
 * The priority of a node among other processes. A node does little work, but it loses its lease if it gets the
 * processor too late. A priority that is not allowed stays as it is.
 */
#ifndef CONCLAVE_LIVE_PROCESS_PRIORITY_H
#define CONCLAVE_LIVE_PROCESS_PRIORITY_H

#include <stdbool.h>

enum cv_priority {
    CV_PRIORITY_AUTO,    /* nice -10 where that is allowed */
    CV_PRIORITY_NORMAL,  /* unchanged */
    CV_PRIORITY_REALTIME /* SCHED_RR, before all that is not real-time; nice -10 if that is not allowed */
};

#define CV_PRIORITY_BYTES 64u

/*
 * Sets the priority of this thread and those that it starts, and locks memory. `text` tells the result, as in "rr 1,
 * memory locked". False if real-time was wanted and is not allowed.
 */
bool cv_priority_set(enum cv_priority priority, char text[CV_PRIORITY_BYTES]);

#endif
