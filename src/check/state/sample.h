// SPDX-License-Identifier: MIT
/*
 * Chooses the steps to test, where a test costs as much as the step: all steps while the search is small, then fewer
 * and fewer. The rate falls with the number of steps, so each doubling of the search gets the same number of tests.
 */
#ifndef CONCLAVE_CHECK_STATE_SAMPLE_H
#define CONCLAVE_CHECK_STATE_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_ALL 4096u  /* steps that are all tested */
#define SAMPLE_RATE 1024u /* tests for each growth by a factor of e after that */

/* Shared by threads. Races only change which step is tested. */
struct sample {
    _Atomic uint64_t count; /* steps seen */
    _Atomic uint64_t next;  /* the next step to test */
};

/* Shall the next step be tested? `before`: steps of earlier searches. */
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

/* How many of `all` objects to follow after `done` steps: all of them at first, later fewer. */
static inline uint32_t sample_some(uint64_t done, uint32_t all)
{
    const uint64_t some = done < SAMPLE_ALL ? all : (uint64_t)all * SAMPLE_ALL / done;
    return some ? (uint32_t)some : 1;
}

#endif
