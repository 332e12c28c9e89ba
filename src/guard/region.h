// SPDX-License-Identifier: MIT
/*
 * Memory that is lent to a handler. What is lent ends where the memory ends: one byte further is a signal. Bytes before
 * it show whether they were written to.
 */
#ifndef CONCLAVE_GUARD_REGION_H
#define CONCLAVE_GUARD_REGION_H

#include <stdbool.h>
#include <stddef.h>

struct region {
    unsigned char *map; /* with a page before and one after that nobody may touch */
    size_t map_bytes;
    unsigned char *lent;
    size_t bytes; /* of what is lent */
};

/* Lends so many bytes; what was lent before is gone. False if there is no memory. */
bool region_lend(struct region *region, size_t bytes);

/* Lends more; what is there stays, at another address. */
bool region_extend(struct region *region, size_t bytes);

/* Is all as it was, before what is lent and in the gap after it? */
bool region_is_whole(const struct region *region);

bool region_has(const struct region *region, const void *address);

void region_free(struct region *region);

#endif
