// SPDX-License-Identifier: MIT
/* What is counted with each grant: a few additions, and no clock but the one that the loop has looked at already. */
#ifndef CONCLAVE_SERVICE_GRANT_STATISTICS_H
#define CONCLAVE_SERVICE_GRANT_STATISTICS_H

#include <stdint.h>

/* Waits of up to 1, 10, 100, 1000 and 10000 ms, and longer ones. */
#define WAIT_BUCKETS 6u

struct grant_statistics {
    uint64_t grants;
    uint64_t ends;
    uint64_t losses;  /* a loss is an end, too */
    uint64_t held;    /* now; what was inherited is held without a grant */
    uint64_t waiting; /* now */
    uint64_t waits[WAIT_BUCKETS];
    uint64_t waited_ms; /* all waits together */
};

static inline uint64_t grant_statistics_limit_ms(uint32_t bucket)
{
    uint64_t limit = 1;
    while (bucket--)
        limit *= 10;
    return limit;
}

static inline void grant_statistics_add(struct grant_statistics *statistics, uint64_t waited_ms)
{
    uint32_t bucket = 0;
    for (uint64_t limit = 1; waited_ms > limit && bucket + 1 < WAIT_BUCKETS; limit *= 10)
        bucket++;
    statistics->grants++;
    statistics->waits[bucket]++;
    statistics->waited_ms += waited_ms;
}

#endif
