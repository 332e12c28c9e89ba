// SPDX-License-Identifier: MIT
/* Functions of the C library that wasi-libc does not have. Every file of the module includes this first. */
#ifndef CONCLAVE_EXPLORE_WASM_WASM_LIBRARY_H
#define CONCLAVE_EXPLORE_WASM_WASM_LIBRARY_H

#include <stddef.h>

void qsort_r(void *list, size_t count, size_t bytes, int (*compare)(const void *, const void *, void *), void *context);

#endif
