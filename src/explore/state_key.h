// SPDX-License-Identifier: MIT
/* States of a search: a fingerprint by which a state is known again, and a copy from which it is made again. */
#ifndef CONCLAVE_EXPLORE_STATE_KEY_H
#define CONCLAVE_EXPLORE_STATE_KEY_H

#include "explore/explored.h"

/* States with the same future have the same key. If timers may fire at any time, when they are due does not matter. */
uint64_t state_key(const struct explored *world, bool any_time);

struct state_snapshot {
    unsigned char *bytes;
    size_t size;
};

/* 0 or CV_ENOMEM. Both worlds are of the same scenario; the one that is put into has no story. */
int state_snapshot_take(struct state_snapshot *snapshot, const struct explored *world);
int state_snapshot_put(const struct state_snapshot *snapshot, struct explored *world);
void state_snapshot_free(struct state_snapshot *snapshot);

#endif
