// SPDX-License-Identifier: MIT
#include "sim/share/split.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "partition/partition.h"

#define ROUNDS_WORTH_A_CUT 64u /* of a synchronous algorithm: so many messages a link */
#define CROSSING_SHARE 8u      /* if at most one link in so many crosses, blocks will do */

/* The first node of a worker's block. */
static cv_node block_begin(const struct split *split, uint64_t worker)
{
    return (cv_node)((worker * split->nodes + split->workers - 1) / split->workers);
}

struct elsewhere split_part(const struct split *split, uint32_t worker, uint32_t width)
{
    const cv_node first = block_begin(split, worker), end = block_begin(split, (uint64_t)worker + width);
    return (struct elsewhere){.owners = split->owners,
                              .first = first,
                              .count = end - first,
                              .last = end - 1,
                              .onward = split->shape == SPLIT_RING,
                              .rows = split->shape == SPLIT_ALL,
                              .nodes = split->nodes,
                              .workers = split->workers,
                              .low = worker,
                              .width = width,
                              .horizon = CV_NEVER};
}

static uint32_t owner_of(const struct split *split, cv_node node)
{
    const struct elsewhere all = split_part(split, 0, split->workers);
    return elsewhere_owner(&all, node);
}

/* From the nodes at the border inwards, link by link. */
static int measure(struct split *split, const struct cv_group *group)
{
    cv_node *queue = malloc((size_t)split->nodes * sizeof *queue);
    split->distances = malloc((size_t)split->nodes * sizeof *split->distances);
    if (!queue || !split->distances) {
        free(queue);
        return CV_ENOMEM;
    }
    size_t begin = 0, end = 0;
    for (cv_node node = 0; node < split->nodes; node++) {
        const uint32_t owner = owner_of(split, node);
        bool border = false;
        for (uint64_t e = group->edges[node]; !border && e < group->edges[node + 1]; e++)
            border = owner_of(split, group->neighbours[e]) != owner;
        split->distances[node] = border ? 1 : SPLIT_FAR;
        if (border)
            queue[end++] = node;
    }
    for (; begin < end; begin++) {
        const cv_node node = queue[begin];
        for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++) {
            const cv_node next = group->neighbours[e];
            if (split->distances[next] != SPLIT_FAR || split->distances[node] >= SPLIT_FAR - 1)
                continue;
            split->distances[next] = (uint16_t)(split->distances[node] + 1);
            queue[end++] = next;
        }
    }
    free(queue);
    return 0;
}

static enum split_shape shape_of(const struct cv_scenario *scenario, bool wide)
{
    if (wide)
        return SPLIT_ALL;
    switch (scenario->group.topology) {
    case CV_RING:
        return SPLIT_RING;
    case CV_RING_BOTH:
        return SPLIT_RING_BOTH;
    case CV_GRAPH:
        return SPLIT_GRAPH;
    default:
        return SPLIT_ALL;
    }
}

/*
 * To cut a graph well takes as long as some messages over each of its links. That pays if blocks of nodes, as they are
 * numbered, would cut many links, and if a run has many messages a link.
 */
static bool is_worth_cutting(struct split *split, const struct cv_scenario *scenario)
{
    const struct cv_group *group = &scenario->group;
    uint64_t crossing = 0;
    if (!scenario->app || group->rounds < ROUNDS_WORTH_A_CUT)
        return false;
    for (cv_node node = 0; node < split->nodes; node++)
        for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++)
            crossing += owner_of(split, node) != owner_of(split, group->neighbours[e]);
    return crossing > group->edges[split->nodes] / CROSSING_SHARE;
}

/* Programs with and without METIS cut differently, so the first rank does it for all. */
static int cut(struct split *split, const struct cv_group *group, struct cv_ranks *ranks)
{
    const size_t bytes = (size_t)split->nodes * sizeof *split->owners;
    const struct cv_partition_rows rows = {group->edges, group->neighbours, split->nodes};
    split->owners = malloc(bytes);
    uint64_t failed = !split->owners;
    if (!failed && !cv_ranks_own(ranks))
        failed = cv_partition(&rows, split->workers, split->owners) != 0;
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, &failed, 1);
    for (size_t at = 0; !failed && at < bytes; at += CV_MOST_BLOCK)
        cv_ranks_broadcast(ranks, 0, (unsigned char *)split->owners + at,
                           bytes - at < CV_MOST_BLOCK ? bytes - at : CV_MOST_BLOCK);
    return failed ? CV_ENOMEM : 0;
}

int split_make(struct split *split, const struct cv_scenario *scenario, struct cv_ranks *ranks, uint32_t workers,
               bool wide)
{
    const struct cv_delay *delay = &scenario->delay;
    *split = (struct split){.shape = shape_of(scenario, wide),
                            .nodes = scenario->group.nodes,
                            .workers = workers,
                            .least_delay = delay->model == CV_DELAY_UNIFORM ? delay->low : 1};
    if (split->shape != SPLIT_GRAPH)
        return 0;
    if ((is_worth_cutting(split, scenario) && cut(split, &scenario->group, ranks)) ||
        measure(split, &scenario->group)) {
        split_free(split);
        return CV_ENOMEM;
    }
    return 0;
}

void split_free(struct split *split)
{
    free(split->owners);
    free(split->distances);
    *split = (struct split){0};
}

bool split_adjoins(const struct split *split, const struct cv_group *group, uint32_t from, uint32_t to)
{
    const struct elsewhere there = split_part(split, to, 1), here = split_part(split, from, 1);
    if (from == to)
        return false;
    switch (split->shape) {
    case SPLIT_RING:
        return to == (from + 1) % split->workers;
    case SPLIT_RING_BOTH:
        return to == (from + 1) % split->workers || from == (to + 1) % split->workers;
    case SPLIT_ALL:
        return true;
    case SPLIT_GRAPH:
        break;
    }
    for (cv_node node = 0; node < split->nodes; node++)
        for (uint64_t e = group->edges[node]; split->distances[node] == 1 && e < group->edges[node + 1]; e++)
            if (!elsewhere_has(&here, node) && !elsewhere_has(&there, group->neighbours[e]))
                return true;
    return false;
}
