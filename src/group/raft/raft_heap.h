// SPDX-License-Identifier: MIT
/*
 * libraft survives a failed allocation, but does not repeat everything that it was about to do: the log would stand
 * still for ever. So the process ends instead, in order, as if it had crashed. Its disk is whole.
 */
#ifndef CONCLAVE_GROUP_RAFT_RAFT_HEAP_H
#define CONCLAVE_GROUP_RAFT_RAFT_HEAP_H

/* From now on an allocation of libraft succeeds, or the process ends. */
void cv_raft_heap_begin(void);

#endif
