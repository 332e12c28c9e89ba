// SPDX-License-Identifier: MIT
/* [limits]: the most that clients can make a node keep. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_LIMITS_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define CV_LARGEST_LONGEST_TTL_MS ((uint64_t)1 << 40) /* what longest-ttl may be */

struct cv_limits {
    uint64_t observed_each;  /* names that one client observes */
    uint64_t observed;       /* names that all clients observe, each counted per observer */
    uint64_t held_each;      /* locks and leaderships of one client */
    uint64_t listings;       /* answers to LOCKS in preparation or in transit at the same time */
    uint64_t output_each;    /* bytes that one client has not read yet */
    uint64_t output;         /* bytes that all clients have not read yet */
    uint64_t command_ms;     /* from the first byte of a command to its last */
    uint64_t longest_ttl_ms; /* no time to live is longer */
};

void cv_limits_init(struct cv_limits *limits);
int cv_limits_set(struct cv_limits *limits, const char *key, const char *value, struct cv_complaint *complaint);
/* The limits by number, as in the file. */
extern const size_t cv_limit_count;
const char *cv_limit_key(const struct cv_limits *limits, size_t key, uint64_t *value);

#endif
