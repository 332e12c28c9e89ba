// SPDX-License-Identifier: MIT
/*
 * Memory for tables that a search reads at random. It uses large pages where the system has them: with small pages, the
 * TLB misses cost more than the reads.
 */
#ifndef CONCLAVE_CHECK_STATE_MEMORY_H
#define CONCLAVE_CHECK_STATE_MEMORY_H

#include <stddef.h>

/* Zeroed memory; NULL if there is none. It takes address space at once, and memory only where it is used. */
void *memory_map(size_t bytes);
/* The same for memory that is sparsely used: in small pages, and not counted against the bound. */
void *memory_reserve(size_t bytes);
void memory_release(void *memory, size_t bytes);

/*
 * Bounds the bytes held: memory_map() returns NULL beyond the bound, except for small pieces. Without it, a table
 * that doubles would go far beyond the bound before the search checks. Checks that run at the same time share the bound
 * of the first.
 */
void memory_bound(size_t bytes);
void memory_unbound(void);

/*
 * Maps all pages now. A page that is read before it is written is mapped twice, and the second time costs a TLB
 * shootdown on all processors.
 */
void memory_touch(void *memory, size_t bytes);
void memory_unmap(void *memory, size_t bytes);
/* Makes it longer, with zeroed bytes at the end, or shorter. It may move. NULL: there is no memory, and it stays. */
void *memory_resize(void *memory, size_t from, size_t to);

#endif
