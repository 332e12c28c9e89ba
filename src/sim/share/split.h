// SPDX-License-Identifier: MIT
/*
 * Which worker has which nodes, and how far each node is from those of other workers. Messages go along links, and each
 * takes some time, so a message in the middle of a block cannot reach another worker soon. That is how long workers can
 * do without each other.
 */
#ifndef CONCLAVE_SIM_SHARE_SPLIT_H
#define CONCLAVE_SIM_SHARE_SPLIT_H

#include "core/scenario/scenario.h"
#include "ranks/ranks.h"
#include "sim/elsewhere.h"

#define SHARE_MOST_WORKERS 2048u

enum split_shape {
    SPLIT_RING,      /* blocks of a ring; messages go to the successor */
    SPLIT_RING_BOTH, /* and to the predecessor */
    SPLIT_GRAPH,     /* parts of a graph */
    SPLIT_ALL        /* blocks; every node may send to every other */
};

struct split {
    enum split_shape shape;
    uint32_t nodes, workers;
    uint64_t least_delay; /* of a message */
    uint16_t *owners;     /* by node: its worker; NULL: blocks */
    uint16_t *distances;  /* SPLIT_GRAPH, by node: links to the nearest node of another worker */
};

/* The first rank makes it, and tells the others. `wide`: messages may go anywhere. 0 or CV_ENOMEM, for all ranks. */
int split_make(struct split *split, const struct cv_scenario *scenario, struct cv_ranks *ranks, uint32_t workers,
               bool wide);
void split_free(struct split *split);

/* The nodes of `width` workers, from that one on. Mail is not filled in. */
struct elsewhere split_part(const struct split *split, uint32_t worker, uint32_t width);

/* May a message go straight from one worker to the other? */
bool split_adjoins(const struct split *split, const struct cv_group *group, uint32_t from, uint32_t to);

#define SPLIT_FAR UINT16_MAX

/* The links that a message to `node`, of this worker, needs from there to the other worker, at least. */
static inline uint64_t split_hops(const struct split *split, const struct elsewhere *here, cv_node node, uint32_t other)
{
    switch (split->shape) {
    case SPLIT_RING:
        return here->first + here->count - node;
    case SPLIT_RING_BOTH: {
        const uint64_t onward = here->first + here->count - node, back = node - here->first + 1;
        const bool next = other == (here->low + 1) % split->workers;
        const bool previous = here->low == (other + 1) % split->workers;
        return !previous ? onward : !next ? back : onward < back ? onward : back;
    }
    case SPLIT_GRAPH:
        return split->distances[node];
    default:
        return 1;
    }
}

#endif
