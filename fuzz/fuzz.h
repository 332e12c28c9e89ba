// SPDX-License-Identifier: MIT
/* What the fuzzers share. Each file here is one, for libFuzzer; tests/fuzz.py builds and runs them. */
#ifndef CONCLAVE_FUZZ_H
#define CONCLAVE_FUZZ_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy that ends where the bytes end, so that the sanitizer sees who reads beyond. To be freed. */
static inline void *fuzz_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    assert(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

#endif
