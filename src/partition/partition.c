// SPDX-License-Identifier: MIT
#include "partition/partition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "partition/metis_cut.h"

/* A partition with a heavier part than this loses to one without, however few edges it cuts. */
#define BALANCED 1.05

static uint64_t weigh(const struct cv_partition_rows *rows, cv_node node)
{
    return rows->edges[node + 1] - rows->edges[node] + 1;
}

static uint64_t weigh_all(const struct cv_partition_rows *rows)
{
    return rows->edges[rows->nodes] - rows->edges[0] + rows->nodes;
}

/* ---- parts that are runs of nodes in some order ---- */

/*
 * A part ends where it has its equal share of what was left when it began, to the nearest node: a node that alone is
 * heavier than a share does not make the later parts unequal. A part also ends if there are only as many nodes left as
 * parts. `order` NULL: the nodes' own.
 */
static void cut_order(const struct cv_partition_rows *rows, uint32_t parts, const cv_node *order, uint16_t *part_of)
{
    uint64_t left = weigh_all(rows), own = 0; /* without the parts before this one; of this one */
    uint32_t part = 0;
    for (uint32_t i = 0; i < rows->nodes; i++) {
        const cv_node node = order ? order[i] : i;
        const uint64_t weight = weigh(rows, node);
        const bool full = (2 * own + weight) * (parts - part) > 2 * left;
        if (own > 0 && part + 1 < parts && (full || rows->nodes - i < parts - part)) {
            left -= own;
            own = 0;
            part++;
        }
        own += weight;
        part_of[node] = (uint16_t)part;
    }
}

/* Appends the nodes that can be reached from `start` and are not `seen`, the nearest first. Returns how many there are
 * in all. */
static uint32_t spread(const struct cv_partition_rows *rows, cv_node start, bool *seen, cv_node *order, uint32_t count)
{
    uint32_t next = count;
    seen[start] = true;
    order[count++] = start;
    while (next < count) {
        const cv_node node = order[next++];
        for (uint64_t i = rows->edges[node]; i < rows->edges[node + 1]; i++) {
            const cv_node other = rows->neighbours[i];
            if (!seen[other]) {
                seen[other] = true;
                order[count++] = other;
            }
        }
    }
    return count;
}

/* Each component begins at a node that is far from its first one: at an end, where the layers are small. */
static void order_by_breadth(const struct cv_partition_rows *rows, bool *seen, cv_node *order)
{
    uint32_t count = 0;
    memset(seen, 0, rows->nodes * sizeof *seen);
    for (cv_node node = 0; node < rows->nodes; node++)
        if (!seen[node]) {
            const uint32_t begin = count, end = spread(rows, node, seen, order, begin);
            const cv_node far = order[end - 1];
            for (uint32_t i = begin; i < end; i++)
                seen[order[i]] = false;
            count = spread(rows, far, seen, order, begin);
        }
}

/* ---- the better of two ---- */

/* Replaces part_of[] by other[] if that is better. */
static int keep_better(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of, const uint16_t *other)
{
    struct cv_partition_quality mine, its;
    if (cv_partition_measure(rows, parts, part_of, &mine) || cv_partition_measure(rows, parts, other, &its))
        return CV_ENOMEM;
    const bool balanced = mine.most_weight <= BALANCED || mine.most_weight <= its.most_weight;
    const bool its_balanced = its.most_weight <= BALANCED || its.most_weight <= mine.most_weight;
    if (its_balanced && (!balanced || its.cut_edges < mine.cut_edges))
        memcpy(part_of, other, rows->nodes * sizeof *other);
    return 0;
}

/* A part with more nodes than an equal share gives one to a part without any; there is one for each. */
static int fill_empty_parts(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of)
{
    uint32_t *counts = calloc(parts, sizeof *counts), empty = 0;
    if (!counts)
        return CV_ENOMEM;
    for (cv_node i = 0; i < rows->nodes; i++)
        counts[part_of[i]]++;
    while (empty < parts && counts[empty])
        empty++;
    for (cv_node i = 0; i < rows->nodes && empty < parts; i++)
        if (counts[part_of[i]] > rows->nodes / parts) {
            counts[part_of[i]]--;
            part_of[i] = (uint16_t)empty;
            counts[empty]++;
            while (empty < parts && counts[empty])
                empty++;
        }
    assert(empty == parts);
    free(counts);
    return 0;
}

int cv_partition_blocks(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of)
{
    assert(parts > 0 && parts <= CV_MOST_PARTS);
    if (parts > rows->nodes)
        parts = rows->nodes;
    if (rows->nodes == 0)
        return 0;
    cut_order(rows, parts, NULL, part_of);
    if (parts == 1)
        return 0;
    cv_node *order = malloc(rows->nodes * sizeof *order);
    bool *seen = malloc(rows->nodes * sizeof *seen);
    uint16_t *other = malloc(rows->nodes * sizeof *other);
    int result = CV_ENOMEM;
    if (order && seen && other) {
        order_by_breadth(rows, seen, order);
        cut_order(rows, parts, order, other);
        result = keep_better(rows, parts, part_of, other);
    }
    free(order);
    free(seen);
    free(other);
    return result;
}

/* Graphs whose nodes have a good order, as rings and grids, are cut best by that order. METIS is for the others. */
int cv_partition(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of)
{
    assert(parts > 0 && parts <= CV_MOST_PARTS);
    if (parts > rows->nodes)
        parts = rows->nodes;
    if (parts < 2 || !metis_cut(rows, parts, part_of))
        return cv_partition_blocks(rows, parts ? parts : 1, part_of);
    uint16_t *other = malloc(rows->nodes * sizeof *other);
    int result = other ? fill_empty_parts(rows, parts, part_of) : CV_ENOMEM;
    if (!result) {
        cut_order(rows, parts, NULL, other);
        result = keep_better(rows, parts, part_of, other);
    }
    free(other);
    return result;
}

/* ---- how good a partition is ---- */

int cv_partition_measure(const struct cv_partition_rows *rows, uint32_t parts, const uint16_t *part_of,
                         struct cv_partition_quality *quality)
{
    uint64_t *weights = calloc(parts, sizeof *weights), most = 0;
    uint32_t *counts = calloc(parts, sizeof *counts);
    *quality = (struct cv_partition_quality){.least_nodes = UINT32_MAX};
    const bool enough = weights && counts;
    for (cv_node node = 0; enough && node < rows->nodes; node++) {
        uint64_t cut = 0;
        for (uint64_t i = rows->edges[node]; i < rows->edges[node + 1]; i++)
            cut += part_of[rows->neighbours[i]] != part_of[node];
        weights[part_of[node]] += weigh(rows, node);
        counts[part_of[node]]++;
        quality->cut_edges += cut;
        quality->boundary_nodes += cut > 0;
    }
    for (uint32_t part = 0; enough && part < parts; part++) {
        most = weights[part] > most ? weights[part] : most;
        quality->most_nodes = counts[part] > quality->most_nodes ? counts[part] : quality->most_nodes;
        quality->least_nodes = counts[part] < quality->least_nodes ? counts[part] : quality->least_nodes;
    }
    quality->cut_edges /= 2;
    quality->most_weight = rows->nodes ? (double)most * parts / (double)weigh_all(rows) : 0;
    free(weights);
    free(counts);
    return enough ? 0 : CV_ENOMEM;
}
