// SPDX-License-Identifier: MIT
/* States of a search: a fingerprint by which a state is known again, and a copy from which it is made again. */
#ifndef CONCLAVE_EXPLORE_STATE_KEY_H
#define CONCLAVE_EXPLORE_STATE_KEY_H

#include "explore/explored.h"

/* The part of a state's key that belongs to each node, but for its timers. */
void state_node_keys(const struct explored *world, uint64_t *keys);

/*
 * States with the same future have the same key. If timers may fire at any time, when they are due does not matter. The
 * keys of the nodes are those of the state before the last step, which changed at most that one; NULL: not known.
 */
uint64_t state_key(const struct explored *world, bool any_time, const uint64_t *node_keys, cv_node changed);

/* A copy of a state: so many bytes. Both worlds are of the same scenario; the one that it is put into has no story. */
size_t state_copy_bytes(const struct explored *world);
void state_copy_take(const struct explored *world, unsigned char *copy);
/* 0 or CV_ENOMEM. */
int state_copy_put(const unsigned char *copy, size_t bytes, struct explored *world);

#endif
