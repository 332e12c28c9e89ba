// SPDX-License-Identifier: MIT
/* What is counted on the way of a lock: a few additions, no clock but the one that the loop has looked at already. */
#ifndef CONCLAVE_SERVICE_TALLY_H
#define CONCLAVE_SERVICE_TALLY_H

#include <stdint.h>

/* Waits of up to 1, 10, 100, 1000 and 10000 ms, and longer ones. */
#define CV_WAIT_BUCKETS 6u

struct cv_tally {
    uint64_t grants, ends, losses; /* a loss is an end, too */
    uint64_t held, waiting;        /* now; what was inherited is held without a grant */
    uint64_t waits[CV_WAIT_BUCKETS];
    uint64_t waited_ms;
};

static inline uint64_t cv_wait_limit_ms(uint32_t bucket)
{
    uint64_t limit = 1;
    while (bucket--)
        limit *= 10;
    return limit;
}

static inline void cv_tally_grant(struct cv_tally *tally, uint64_t waited_ms)
{
    uint32_t bucket = 0;
    for (uint64_t limit = 1; waited_ms > limit && bucket + 1 < CV_WAIT_BUCKETS; limit *= 10)
        bucket++;
    tally->grants++;
    tally->waits[bucket]++;
    tally->waited_ms += waited_ms;
}

#endif
