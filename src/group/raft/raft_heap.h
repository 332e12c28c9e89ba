// SPDX-License-Identifier: MIT
/*
 * libraft is told of a failed allocation, but not all that it was about to do is done again later: a log that leads
 * nobody would be left. So the process ends instead, in order, as if it had crashed; what is on its disk is whole.
 */
#ifndef CONCLAVE_GROUP_RAFT_RAFT_HEAP_H
#define CONCLAVE_GROUP_RAFT_RAFT_HEAP_H

/* raft_heap.c: what libraft allocates is there, or the process ends. */
void cv_raft_heap_begin(void);

#endif
