// SPDX-License-Identifier: MIT
/* States of a search: a fingerprint by which a state is known again, and a copy from which it is made again. */
#ifndef CONCLAVE_EXPLORE_STATE_KEY_H
#define CONCLAVE_EXPLORE_STATE_KEY_H

#include "explore/explored.h"

/* States with the same future have the same key. If timers may fire at any time, when they are due does not matter. */
uint64_t state_key(const struct explored *world, bool any_time);

/* A copy of a state: so many bytes. Both worlds are of the same scenario; the one that it is put into has no story. */
size_t state_copy_bytes(const struct explored *world);
void state_copy_take(const struct explored *world, unsigned char *copy);
/* 0 or CV_ENOMEM. */
int state_copy_put(const unsigned char *copy, size_t bytes, struct explored *world);

#endif
