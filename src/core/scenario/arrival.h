// SPDX-License-Identifier: MIT
/*
 * When a message arrives, and in which order those of one tick do. Both follow from the message and the seed alone, so
 * the simulator's run is the same whoever computes which part of it, and the explorer can follow it.
 */
#ifndef CONCLAVE_CORE_SCENARIO_ARRIVAL_H
#define CONCLAVE_CORE_SCENARIO_ARRIVAL_H

#include <conclave/runtime.h>

#include "core/random.h"
#include "core/scenario/scenario.h"

/* The streams of a seed from which a run draws. */
enum cv_chance_stream { CV_CHANCE_DELAYS = 1, CV_CHANCE_CHOICES, CV_CHANCE_PACKETS };

/*
 * What is drawn for a channel, in the critical section `name`. With the sender's clock at the send it tells messages
 * apart: every send is an event, and a multicast has one message for each receiver.
 */
static inline uint64_t cv_arrival_channel(cv_node from, cv_node to, uint32_t name)
{
    return ((uint64_t)from << 32 | to) + name * UINT64_C(0x9e3779b97f4a7c15);
}

/* The ticks that a message takes over one link, by a number that was drawn for it. */
static inline uint64_t cv_arrival_delay(const struct cv_delay *delay, uint64_t drawn)
{
    switch (delay->model) {
    case CV_DELAY_UNIT:
        return 1;
    case CV_DELAY_UNIFORM:
        return delay->low + cv_chance_below(drawn, delay->high - delay->low + 1);
    default:
        return cv_chance_exponential(drawn, delay->low);
    }
}

/* The `count`-th choice of a step, by the clock of its node at that time. */
static inline uint32_t cv_arrival_choice(const struct cv_chance *choices, cv_node node, uint32_t name, uint64_t clock,
                                         uint32_t count, uint32_t ways)
{
    return (uint32_t)cv_chance_below(cv_chance_draw(choices, cv_arrival_channel(count, node, name), clock), ways);
}

static inline bool cv_arrival_ring(const struct cv_group *group)
{
    return group->topology == CV_RING || group->topology == CV_RING_BOTH;
}

/*
 * Where a sender stands in the order at a receiver: by number, but on a ring as a walk back from the receiver meets
 * them. So the predecessor comes first there, and the successor last but for the node itself.
 */
static inline uint32_t cv_arrival_rank(uint32_t nodes, bool ring, cv_node to, cv_node from)
{
    return !ring ? from : to > from ? to - from - 1 : to + (nodes - 1 - from);
}

#endif
