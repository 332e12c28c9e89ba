// SPDX-License-Identifier: MIT
/*
 * Assume that an algorithm uses Lamport's clocks only to compare the times of requests with each other. Then the order
 * of the requests is all that a run takes from the clocks, and the orders here contain it: first the requests of the
 * run, by their times, then those that are never made. Every request has a fixed time. A node must make its own next
 * request before it hears of a request that is not earlier: in the run, its clock would have passed that time. This
 * needs no clock that ticks, and nothing else is demanded. So everything that happens in the run happens here, and no
 * violation is missed. A violation found here may be possible here only, so the checker looks for it again with clocks.
 *
 * If other messages carry a time that is compared with the receiver's own request (CV_CLOCKS_REQUESTS), nodes keep a
 * clock that does not tick: the latest request heard of, directly or not. In the run the clock may be ahead of that,
 * but not past the node's own next request. Each message that carries a clock therefore has one more choice: how far
 * the clock is ahead. Only the comparison with requests of the receivers makes a difference.
 */
#include "check/setting/request_order.h"

/* How often a node has requested before that rank. */
static uint32_t requests_before(const struct order *order, cv_node node, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank; i++)
        count += order->masks[i] >> node & 1;
    return count;
}

/* The nodes that still have a request to make at that rank or later. */
static uint32_t remaining(const struct order *order, uint32_t rank)
{
    uint32_t mask = 0;
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        if (order->callers & 1u << node && requests_before(order, node, rank) < order->entries)
            mask |= 1u << node;
    return mask;
}

/* From that rank on, all remaining nodes request at the same time; a strict order takes the first of them. */
static void fill(struct order *order, uint32_t rank)
{
    for (uint32_t mask; (mask = remaining(order, rank)); rank++)
        order->masks[rank] = order->strict ? mask & -mask : mask;
    order->ranks = rank;
}

/* The next set of nodes for a rank, out of `all`; 0 after the last. */
static uint32_t next_mask(const struct order *order, uint32_t now, uint32_t all)
{
    if (!order->strict)
        return (now - 1) & all;
    const uint32_t after = all & ~(now | (now - 1));
    return after & -after;
}

bool order_first(struct order *order, uint32_t callers, uint64_t entries, bool strict)
{
    uint32_t count = 1;
    *order = (struct order){.callers = callers, .entries = (uint32_t)entries, .strict = strict};
    if (entries > MOST_REQUESTS || entries * (uint32_t)__builtin_popcount(callers) > MOST_REQUESTS)
        return false;
    fill(order, 0);
    for (struct order other = *order; count <= MOST_ORDERS && order_next(&other);)
        count++;
    return count <= MOST_ORDERS;
}

bool order_next(struct order *order)
{
    for (uint32_t rank = order->ranks; rank-- > 0;) {
        const uint32_t next = next_mask(order, order->masks[rank], remaining(order, rank));
        if (next) {
            order->masks[rank] = next;
            fill(order, rank + 1);
            return true;
        }
    }
    return false;
}

uint32_t order_time(const struct order *order, cv_node node, uint32_t left)
{
    for (uint32_t rank = 0; left && rank < order->ranks; rank++)
        if (order->masks[rank] & 1u << node && requests_before(order, node, rank) == order->entries - left)
            return (rank + 1) * ORDER_STEP;
    return 0;
}

uint64_t order_merge(const struct order *order, uint32_t merged, uint64_t time)
{
    uint64_t rank = time / ORDER_STEP;
    if (time % ORDER_STEP || !rank || rank > order->ranks)
        return time;
    while (merged & 1u << (rank - 1))
        rank--;
    return rank * ORDER_STEP;
}

uint64_t order_retime(const struct order *order, struct retiming retiming, uint64_t time)
{
    const uint64_t rank = time / ORDER_STEP, after = time % ORDER_STEP;
    if (!retiming.gap || !rank || rank > order->ranks || after >= retiming.gap)
        return time;
    return retiming.base + rank * retiming.gap + after;
}

uint64_t order_retime_back(const struct order *order, struct retiming retiming, uint64_t time)
{
    const uint64_t far = time - retiming.base;
    if (!retiming.gap || time < retiming.base + retiming.gap || far >= (order->ranks + 1ull) * retiming.gap)
        return time;
    return far / retiming.gap * ORDER_STEP + far % retiming.gap;
}
