// SPDX-License-Identifier: MIT
#include "core/index.h"

#include <stdlib.h>

#include "core/error.h"

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int cv_index_make(struct cv_index *index, const cv_id *ids, uint32_t count)
{
    index->count = count;
    index->pairs = malloc((count ? count : 1) * sizeof *index->pairs);
    if (!index->pairs)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        index->pairs[i] = (uint64_t)ids[i] << 32 | i;
    qsort(index->pairs, count, sizeof *index->pairs, compare);
    return 0;
}

void cv_index_free(struct cv_index *index)
{
    free(index->pairs);
    *index = (struct cv_index){0};
}

cv_node cv_index_find(const struct cv_index *index, cv_id id)
{
    uint32_t low = 0, high = index->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (index->pairs[middle] >> 32 < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->count && index->pairs[low] >> 32 == id ? (cv_node)index->pairs[low] : CV_NOBODY;
}

bool cv_index_duplicate(const struct cv_index *index, cv_id *id)
{
    for (uint32_t i = 1; i < index->count; i++)
        if (index->pairs[i] >> 32 == index->pairs[i - 1] >> 32) {
            *id = (cv_id)(index->pairs[i] >> 32);
            return true;
        }
    return false;
}
