// SPDX-License-Identifier: MIT
/*
 * Which steps are put to a test that costs as much as they do: all of them while a search is small, and of a large one
 * fewer and fewer, evenly over its growth. Whether that is the 10,000th or the 20,000th counts as much as whether it is
 * the millionth or the two millionth.
 */
#ifndef CONCLAVE_CHECK_STATE_SAMPLE_H
#define CONCLAVE_CHECK_STATE_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_ALL 4096u  /* so many are all tested, */
#define SAMPLE_RATE 1024u /* then so many each time that their number has grown by a factor of e */

/* Shared by threads: which of them takes the next one does not matter. */
struct sample {
    _Atomic uint64_t count, next;
};

/* Is the next one to be tested? `before`: how much has been searched before this search. */
static inline bool sample_takes(struct sample *sample, uint64_t before)
{
    const uint64_t count = before + atomic_fetch_add_explicit(&sample->count, 1, memory_order_relaxed);
    if (count < SAMPLE_ALL)
        return true;
    if (count < atomic_load_explicit(&sample->next, memory_order_relaxed))
        return false;
    atomic_store_explicit(&sample->next, count + 1 + count / SAMPLE_RATE, memory_order_relaxed);
    return true;
}

/* Of several that must be followed from the beginning, how many are: all of them at first, later fewer. */
static inline uint32_t sample_some(uint64_t done, uint32_t all)
{
    const uint64_t some = done < SAMPLE_ALL ? all : (uint64_t)all * SAMPLE_ALL / done;
    return some ? (uint32_t)some : 1;
}

#endif
