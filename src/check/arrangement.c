// SPDX-License-Identifier: MIT
#include "check/arrangement.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *one, const void *other)
{
    const cv_id a = *(const cv_id *)one, b = *(const cv_id *)other;
    return (a > b) - (a < b);
}

/* How many nodes at the beginning keep their ids. */
static uint32_t fixed_nodes(const struct cv_scenario *scenario)
{
    if (scenario->group.topology == CV_COMPLETE)
        return scenario->group.nodes;
    return scenario->group.topology != CV_GRAPH && scenario->algorithm->problem == CV_ELECTION ? 1 : 0;
}

void cv_arrangement_first(struct cv_arrangement *arrangement, const struct cv_scenario *scenario)
{
    *arrangement = (struct cv_arrangement){.nodes = scenario->group.nodes, .fixed = fixed_nodes(scenario), .count = 1};
    memcpy(arrangement->ids, scenario->group.ids, arrangement->nodes * sizeof *arrangement->ids);
    qsort(arrangement->ids, arrangement->nodes, sizeof *arrangement->ids, by_value);
    for (uint32_t i = 2; i + arrangement->fixed <= arrangement->nodes; i++)
        arrangement->count *= i;
}

static void exchange(cv_id *one, cv_id *other)
{
    const cv_id kept = *one;
    *one = *other;
    *other = kept;
}

/* The next permutation in lexicographic order. */
bool cv_arrangement_next(struct cv_arrangement *arrangement)
{
    cv_id *ids = arrangement->ids;
    uint32_t last = arrangement->nodes, at = arrangement->nodes;
    while (at > arrangement->fixed + 1 && ids[at - 2] > ids[at - 1])
        at--;
    if (at <= arrangement->fixed + 1)
        return false;
    while (ids[last - 1] < ids[at - 2])
        last--;
    exchange(&ids[at - 2], &ids[last - 1]);
    for (last = arrangement->nodes; at < last; at++, last--)
        exchange(&ids[at - 1], &ids[last - 1]);
    return true;
}
