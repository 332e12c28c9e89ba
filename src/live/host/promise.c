// SPDX-License-Identifier: MIT
#include "live/host/promise.h"

#include <stdlib.h>

struct cv_promise *cv_promise_find(struct cv_promise *list, uint64_t fence)
{
    while (list && list->fence != fence)
        list = list->next;
    return list;
}

bool cv_is_client_name(struct cv_text name)
{
    for (size_t i = 0; i < name.length; i++)
        if (name.start[i] < '!' || name.start[i] > '~')
            return false;
    return name.length <= CV_CLIENT_NAME_BYTES;
}

static void drop_texts(struct cv_promise *promise)
{
    cv_drop_text(&promise->client);
    cv_drop_text(&promise->value);
}

/* The promise may be a copy of the one that it replaces, so the texts get their new owner before they lose the old. */
struct cv_promise *cv_promise_put(struct cv_promise **list, const struct cv_promise *promise)
{
    struct cv_promise *place = cv_promise_find(*list, promise->fence);
    struct cv_promise *next = place ? place->next : *list;
    const bool replaces = place;
    if (!place && !(place = malloc(sizeof *place)))
        return NULL;
    cv_share_text(promise->client);
    cv_share_text(promise->value);
    if (replaces)
        drop_texts(place);
    else
        *list = place;
    *place = *promise;
    place->next = next;
    return place;
}

void cv_promise_drop(struct cv_promise **at)
{
    struct cv_promise *promise = *at;
    *at = promise->next;
    drop_texts(promise);
    free(promise);
}

void cv_promise_drop_all(struct cv_promise **list)
{
    while (*list)
        cv_promise_drop(list);
}
