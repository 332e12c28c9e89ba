// SPDX-License-Identifier: MIT
#include "live/host/promise.h"

#include <stdlib.h>

struct cv_promise *cv_promise_find(struct cv_promise *list, uint64_t fence)
{
    while (list && list->fence != fence)
        list = list->next;
    return list;
}

struct cv_promise *cv_promise_put(struct cv_promise **list, const struct cv_promise *promise)
{
    struct cv_promise *place = cv_promise_find(*list, promise->fence);
    if (place) {
        struct cv_promise *next = place->next;
        *place = *promise;
        place->next = next;
    } else if ((place = malloc(sizeof *place))) {
        *place = *promise;
        place->next = *list;
        *list = place;
    }
    return place;
}

void cv_promise_drop(struct cv_promise **at)
{
    struct cv_promise *promise = *at;
    *at = promise->next;
    free(promise);
}

void cv_promise_drop_all(struct cv_promise **list)
{
    while (*list)
        cv_promise_drop(list);
}
