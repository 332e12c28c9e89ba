// SPDX-License-Identifier: MIT
/*
 * libuv and OpenSSL abort when they find no memory. So that a node ends in order instead, their allocations fall back
 * on a reserve. A node that has spent the reserve says so and ends, as if it had crashed: its lease runs out.
 */
#ifndef CONCLAVE_LIVE_NET_HEAP_H
#define CONCLAVE_LIVE_NET_HEAP_H

/* From now on libuv and OpenSSL allocate through this file. Without memory the process exits with `code`. */
int cv_heap_begin(int code);

#endif
