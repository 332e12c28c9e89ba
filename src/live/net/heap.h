// SPDX-License-Identifier: MIT
/*
 * libuv and OpenSSL end the program by a signal where they find no memory. So that a node ends in order instead, their
 * allocations fall back on a reserve; a node that has spent it says so and ends, as if it had crashed: its lease runs
 * out.
 */
#ifndef CONCLAVE_LIVE_NET_HEAP_H
#define CONCLAVE_LIVE_NET_HEAP_H

/* From now on libuv and OpenSSL allocate through this file. Without memory the process exits with `code`. */
int cv_heap_begin(int code);

#endif
