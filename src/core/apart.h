// SPDX-License-Identifier: MIT
/* Memory for what one thread writes again and again: no other thread has anything in its cache lines. */
#ifndef CONCLAVE_CORE_APART_H
#define CONCLAVE_CORE_APART_H

#include <stdlib.h>
#include <string.h>

#define CV_APART 128u /* processors fetch lines of 64 bytes, some of them in pairs */

/* Zeros; NULL: no memory. For free(). */
static inline void *cv_new_apart(size_t bytes)
{
    const size_t whole = (bytes + CV_APART - 1) / CV_APART * CV_APART;
    void *memory = aligned_alloc(CV_APART, whole);
    return memory ? memset(memory, 0, whole) : NULL;
}

#endif
