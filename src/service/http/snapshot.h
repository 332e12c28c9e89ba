// SPDX-License-Identifier: MIT
/*
 * What the page shows, at one moment: an event of text/event-stream whose data is one line of JSON. It is for the page
 * that comes from the same node, and may change with it.
 */
#ifndef CONCLAVE_SERVICE_HTTP_SNAPSHOT_H
#define CONCLAVE_SERVICE_HTTP_SNAPSHOT_H

#include "service/http/recent_holds.h"
#include "service/http/survey.h"

#define SNAPSHOT_BYTES ((size_t)128 << 10) /* names that have no room are only counted */

/* Readers with the same rights share it. */
struct snapshot {
    uint32_t users;
    size_t length;
    char bytes[];
};

/* Of a survey that is complete; with one user. NULL if there is no memory. */
struct snapshot *snapshot_make(const struct survey *survey, const struct recent_holds *recent);
/* One user fewer; `snapshot` may be NULL. */
void snapshot_leave(struct snapshot *snapshot);

#endif
