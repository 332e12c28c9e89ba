// SPDX-License-Identifier: MIT
/* [limits]: what clients can make a node keep, at most. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_LIMITS_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct cv_limits {
    uint64_t observed_each, observed; /* names that a client observes; that all do, each as often as it is observed */
    uint64_t held_each;               /* locks and leaderships of a client */
    uint64_t listings;                /* answers to LOCKS that are put together or sent at the same time */
    uint64_t output_each, output;     /* bytes that a client has yet to read; that all have */
    uint64_t command_ms;              /* from the first byte of a command to its last */
};

void cv_limits_init(struct cv_limits *limits);
int cv_limits_set(struct cv_limits *limits, const char *key, const char *value, struct cv_complaint *complaint);
/* Each of them as the file has it, by number. */
extern const size_t cv_limit_count;
const char *cv_limit_key(const struct cv_limits *limits, size_t key, uint64_t *value);

#endif
