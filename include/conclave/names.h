// SPDX-License-Identifier: MIT
/* What nodes, processes and ranks are called, and how the nodes of a group are linked. */
#ifndef CONCLAVE_NAMES_H
#define CONCLAVE_NAMES_H

#include <stdint.h>

typedef uint32_t cv_node; /* a node's index in the group, 0..n-1: the address of a message */
typedef uint32_t cv_id;   /* the id of a process: unique, any number; the texts compare ids */
typedef uint64_t cv_rank; /* (attribute, id) as one number: the node with the highest is the best */

#define CV_NOBODY UINT32_MAX /* no node */
#define CV_NO_WAY UINT32_MAX /* as a weight: the edge leads only the other way */

static inline cv_rank cv_rank_make(uint32_t attribute, cv_id id)
{
    return (cv_rank)attribute << 32 | id;
}

static inline cv_id cv_rank_id(cv_rank rank)
{
    return (cv_id)rank;
}

static inline uint32_t cv_rank_attribute(cv_rank rank)
{
    return (uint32_t)(rank >> 32);
}

enum cv_topology {
    CV_COMPLETE,  /* a node sends to every other node */
    CV_RING,      /* a node sends to its successor only */
    CV_RING_BOTH, /* a node sends to its successor and its predecessor */
    CV_GRAPH      /* a node sends to its neighbours in a given graph */
};

/* Where a node is with respect to the critical section, in the texts' words. */
enum cv_region {
    CV_REMAINDER, /* it does not want to enter */
    CV_TRYING,    /* it has requested, and is not inside yet */
    CV_CRITICAL   /* it is inside */
};

#endif
