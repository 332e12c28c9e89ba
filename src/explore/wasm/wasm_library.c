// SPDX-License-Identifier: MIT
#include "explore/wasm/wasm_library.h"

static void swap(unsigned char *one, unsigned char *other, size_t bytes)
{
    while (bytes--) {
        const unsigned char kept = *one;
        *one++ = *other;
        *other++ = kept;
    }
}

/* Heapsort: no memory, and never slow. */
void qsort_r(void *list, size_t count, size_t bytes, int (*compare)(const void *, const void *, void *), void *context)
{
    unsigned char *at = list;
    size_t heap = count / 2, end = count;
    while (end > 1) {
        if (heap > 0)
            heap--;
        else
            swap(at, at + --end * bytes, bytes);
        for (size_t parent = heap, child; (child = 2 * parent + 1) < end; parent = child) {
            if (child + 1 < end && compare(at + child * bytes, at + (child + 1) * bytes, context) < 0)
                child++;
            if (compare(at + parent * bytes, at + child * bytes, context) >= 0)
                break;
            swap(at + parent * bytes, at + child * bytes, bytes);
        }
    }
}
