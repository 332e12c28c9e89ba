// SPDX-License-Identifier: MIT
/*
 *     [limits]
 *     observed-per-client = 1000         ; names that one connection observes
 *     output = 512M                      ; bytes of answers that all clients together have yet to read
 *     command-timeout = 10000            ; milliseconds from a command's first byte to its last
 *     longest-ttl = 86400000             ; milliseconds: no client gets a longer time to live
 */
#include "live/settings/settings_limits.h"

#include <stddef.h>
#include <string.h>

#include "core/parse.h"
#include "live/settings/settings.h"

#define LEAST_OUTPUT ((uint64_t)1 << 20)
#define LARGEST_OUTPUT ((uint64_t)1 << 40)

enum unit { NUMBER, BYTES };

static const struct {
    const char *key;
    uint64_t least, largest, fallback;
    size_t place;
    enum unit unit;
} keys[] = {
    {"observed-per-client", 1, 1000000, 1000, offsetof(struct cv_limits, observed_each), NUMBER},
    {"observed", 1, 100000000, 100000, offsetof(struct cv_limits, observed), NUMBER},
    {"held-per-client", 1, 100000000, 100000, offsetof(struct cv_limits, held_each), NUMBER},
    {"listings", 1, 10000, 64, offsetof(struct cv_limits, listings), NUMBER},
    {"output-per-client", LEAST_OUTPUT, LARGEST_OUTPUT, (uint64_t)64 << 20, offsetof(struct cv_limits, output_each),
     BYTES},
    {"output", LEAST_OUTPUT, LARGEST_OUTPUT, (uint64_t)512 << 20, offsetof(struct cv_limits, output), BYTES},
    {"command-timeout", 10, 3600000, 10000, offsetof(struct cv_limits, command_ms), NUMBER},
    {"longest-ttl", 1000, CV_LARGEST_LONGEST_TTL_MS, 86400000, offsetof(struct cv_limits, longest_ttl_ms), NUMBER},
};

const size_t cv_limit_count = sizeof keys / sizeof *keys;

static uint64_t *value_of(struct cv_limits *limits, size_t key)
{
    return (uint64_t *)(void *)((char *)limits + keys[key].place);
}

const char *cv_limit_key(const struct cv_limits *limits, size_t key, uint64_t *value)
{
    memcpy(value, (const char *)limits + keys[key].place, sizeof *value);
    return keys[key].key;
}

void cv_limits_init(struct cv_limits *limits)
{
    for (size_t i = 0; i < cv_limit_count; i++)
        *value_of(limits, i) = keys[i].fallback;
}

/* 64M is 64 times 2^20. */
static bool read_bytes(struct cv_text text, uint64_t largest, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit = text.length ? strchr(units, text.start[text.length - 1]) : NULL;
    const unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    text.length -= shift > 0;
    if (!cv_parse_number(text, largest >> shift, bytes))
        return false;
    *bytes <<= shift;
    return true;
}

int cv_limits_set(struct cv_limits *limits, const char *key, const char *value, struct cv_complaint *complaint)
{
    for (size_t i = 0; i < cv_limit_count; i++) {
        uint64_t number = 0;
        if (strcmp(key, keys[i].key) != 0)
            continue;
        if (keys[i].unit == BYTES ? read_bytes(cv_text(value), keys[i].largest, &number)
                                  : cv_parse_number(cv_text(value), keys[i].largest, &number)) {
            *value_of(limits, i) = number;
            if (number >= keys[i].least)
                return 0;
        }
        return cv_complain(complaint, "[limits] %s = %s: expected a number of %llu to %llu%s", key,
                           cv_brief(value).text, (unsigned long long)keys[i].least, (unsigned long long)keys[i].largest,
                           keys[i].unit == BYTES ? ", or as in 64M" : "");
    }
    return cv_complain(complaint,
                       "[limits] %s: expected observed-per-client, observed, held-per-client, listings, "
                       "output-per-client, output, command-timeout or longest-ttl",
                       cv_brief(key).text);
}
