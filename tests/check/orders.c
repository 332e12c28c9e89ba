// SPDX-License-Identifier: MIT
#include "check/orders.h"

#include <stdlib.h>

enum { MOST = 8, ROOM = 1 << 20 };

/* ---- what was seen from outside, by a hash ---- */

static uint64_t *seen, missing;

/* Where it is, or would be. */
static uint64_t *slot_of(const uint32_t *outline, uint32_t count, uint64_t *hash)
{
    *hash = 14695981039346656037ull;
    for (uint32_t i = 0; i < count; i++)
        *hash = (*hash ^ outline[i]) * 1099511628211ull;
    *hash |= 1;
    uint64_t at = *hash >> 32;
    while (seen[at % ROOM] && seen[at % ROOM] != *hash)
        at++;
    return &seen[at % ROOM];
}

static void note(const uint32_t *outline, uint32_t count)
{
    uint64_t hash;
    uint64_t *slot = slot_of(outline, count, &hash);
    *slot = hash;
}

static void look_up(const uint32_t *outline, uint32_t count)
{
    uint64_t hash;
    missing += *slot_of(outline, count, &hash) == 0;
}

/* ---- all orders ---- */

/* Is it an order? The requests of a node follow each other, and every time up to the last is somebody's. */
static bool is_order(const uint32_t *times, uint32_t nodes, uint32_t entries, bool strict)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < nodes * entries; i++) {
        if (times[i] && i % entries && times[i] <= times[i - 1])
            return false;
        if (strict && times[i] && used & 1u << (times[i] - 1))
            return false;
        used |= times[i] ? 1u << (times[i] - 1) : 0;
    }
    return (used & (used + 1)) == 0;
}

/* The next way to give each request a time of 1 to their number; 0 for who does not ask. False after the last. */
static bool count_on(uint32_t *times, uint32_t callers, uint32_t nodes, uint32_t entries)
{
    const uint32_t count = nodes * entries;
    for (uint32_t i = 0; i < count; i++) {
        if (!(callers & 1u << i / entries))
            continue;
        if (times[i]++ < count)
            return true;
        times[i] = 1;
    }
    return false;
}

uint64_t orders_run(const struct cv_scenario *scenario, const struct naive_options *options, bool strict,
                    struct naive_result *sum)
{
    const uint32_t nodes = scenario->group.nodes, entries = (uint32_t)scenario->entries;
    uint32_t times[MOST] = {0};
    struct naive_options now = *options;
    struct naive_result result;
    if (nodes * entries > MOST)
        abort();
    *sum = (struct naive_result){0};
    missing = 0;
    seen = calloc(ROOM, sizeof *seen);
    for (uint32_t i = 0; i < nodes * entries; i++)
        times[i] = options->callers >> i / entries & 1;
    now.times = times;
    now.look = note;
    do {
        if (!is_order(times, nodes, entries, strict))
            continue;
        naive_run(scenario, &now, &result);
        sum->states += result.states;
        sum->transitions += result.transitions;
        sum->ends += result.ends;
        sum->depth = result.depth > sum->depth ? result.depth : sum->depth;
    } while (count_on(times, options->callers, nodes, entries));
    now.times = NULL;
    now.look = look_up;
    naive_run(scenario, &now, &result);
    free(seen);
    return missing;
}
