// SPDX-License-Identifier: MIT
#include "check/orders.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8, ROOM = 1 << 20 };

/* ---- a set of outlines, by hash ---- */

static uint64_t *seen, missing;

/* The slot where it is, or would be. */
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

/* Is it an order? The requests of a node have ascending times, and every time up to the last has a request. */
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

/* The next assignment of times to requests, from 1 to their number; 0: no request. False after the last. */
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

/* ---- other names ---- */

/* The next permutation in lexicographic order; false after the last. */
static bool permute(cv_node *names, uint32_t count)
{
    uint32_t i = count - 1, j = count - 1;
    while (i && names[i - 1] > names[i])
        i--;
    if (!i)
        return false;
    while (names[j] < names[i - 1])
        j--;
    const cv_node name = names[j];
    names[j] = names[i - 1];
    names[i - 1] = name;
    for (j = count - 1; i < j; i++, j--) {
        const cv_node last = names[j];
        names[j] = names[i];
        names[i] = last;
    }
    return true;
}

static bool votes_for(const struct cv_group *group, cv_node voter, cv_node node)
{
    for (uint64_t i = group->quorums[node]; i < group->quorums[node + 1]; i++)
        if (group->voters[i] == voter)
            return true;
    return false;
}

/* Do all pairs of nodes have the same relation as their images? */
static bool is_fair(const struct cv_group *group, const struct naive_options *options, const uint32_t *times,
                    uint32_t entries, const cv_node *names)
{
    for (cv_node one = 0; one < group->nodes; one++) {
        if ((options->callers >> one & 1) != (options->callers >> names[one] & 1) || (options->inside && names[0]))
            return false;
        for (cv_node other = 0; other < group->nodes; other++) {
            if (group->quorums && votes_for(group, one, other) != votes_for(group, names[one], names[other]))
                return false;
            for (uint32_t i = 0; i < entries * entries; i++)
                if (times[one * entries + i / entries] &&
                    times[one * entries + i / entries] == times[other * entries + i % entries] &&
                    (group->ids[one] < group->ids[other]) != (group->ids[names[one]] < group->ids[names[other]]))
                    return false;
        }
    }
    return true;
}

/* Is it the first, in lexicographic order, of its images under other names? */
static bool is_first(const uint32_t *times, const struct cv_scenario *scenario, const struct naive_options *options)
{
    const uint32_t nodes = scenario->group.nodes, entries = (uint32_t)scenario->entries;
    cv_node names[MOST];
    for (cv_node node = 0; node < nodes; node++)
        names[node] = node;
    do {
        uint32_t named[MOST] = {0};
        for (uint32_t i = 0; i < nodes * entries; i++)
            named[names[i / entries] * entries + i % entries] = times[i];
        if (memcmp(named, times, nodes * entries * sizeof *named) != 0 &&
            is_fair(&scenario->group, options, times, entries, names)) {
            uint32_t i = 0;
            while (named[i] == times[i])
                i++;
            if (named[i] < times[i])
                return false;
        }
    } while (permute(names, nodes));
    return true;
}

uint64_t orders_run(const struct cv_scenario *scenario, const struct naive_options *options, bool strict,
                    bool symmetric, struct naive_result *sum)
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
        if (!is_order(times, nodes, entries, strict) || (symmetric && !is_first(times, scenario, options)))
            continue;
        naive_run(scenario, &now, &result);
        sum->states += result.states;
        sum->transitions += result.transitions;
        sum->ends += result.ends;
        sum->depth = result.depth > sum->depth ? result.depth : sum->depth;
    } while (count_on(times, options->callers, nodes, entries));
    now.times = NULL;
    now.look = look_up;
    if (!symmetric)
        naive_run(scenario, &now, &result);
    free(seen);
    return missing;
}
