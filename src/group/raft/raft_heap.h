// SPDX-License-Identifier: MIT
/*
 * libraft survives a failed allocation, but does not retry all of its work, so the log could stand still for ever. The
 * process ends in order instead, as if it had crashed. Its disk is whole.
 */
#ifndef CONCLAVE_GROUP_RAFT_RAFT_HEAP_H
#define CONCLAVE_GROUP_RAFT_RAFT_HEAP_H

#include <stdbool.h>

/* From now on an allocation of libraft succeeds, or the process ends. */
void cv_raft_heap_begin(void);

/* Watches a block of libraft's, from one call to the other: has it been freed? One at a time. */
void cv_raft_heap_watch(const void *block);
bool cv_raft_heap_was_freed(void);

#endif
