// SPDX-License-Identifier: MIT
/*
 * Let an algorithm make nothing of Lamport's clocks but to compare the times of requests with each other. Then their
 * order is all that a run makes of them, and it is among those tried here: first the requests of the run, by their
 * times, then those that are never made. Every request has the time laid down for it. A node has to ask before it hears
 * of a request that is not earlier than its own next one: in the run its clock would have gone past that. No clock that
 * ticks is needed to demand this, and no more is demanded; so whatever happens in the run happens here, and nothing
 * wrong is missed. What is found wrong may be so here only; therefore it is looked for again, with clocks.
 *
 * If other messages bear a time too, which is compared with their receiver's own request (CV_CLOCKS_REQUESTS), clocks
 * are kept, but do not tick: a clock is the latest request heard of, directly or not. In the run it may have run ahead
 * of that, but not past the node's own next request. How far is one more choice with every message that bears it; only
 * how it compares with requests of those it is sent to makes a difference.
 */
#include "check/state/request_order.h"

/* How often a node has asked before that rank. */
static uint32_t asked_before(const struct order *order, cv_node node, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank; i++)
        count += order->masks[i] >> node & 1;
    return count;
}

/* Who still has to ask at that rank, or later. */
static uint32_t remaining(const struct order *order, uint32_t rank)
{
    uint32_t mask = 0;
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        if (order->callers & 1u << node && asked_before(order, node, rank) < order->entries)
            mask |= 1u << node;
    return mask;
}

/* From that rank on: all who can ask at the same time do, or the first of them. */
static void fill(struct order *order, uint32_t rank)
{
    for (uint32_t mask; (mask = remaining(order, rank)); rank++)
        order->masks[rank] = order->strict ? mask & -mask : mask;
    order->ranks = rank;
}

/* Who may ask at that rank behind those who do now, of so many who have to; 0 after the last. */
static uint32_t next_mask(const struct order *order, uint32_t now, uint32_t all)
{
    if (!order->strict)
        return (now - 1) & all;
    const uint32_t behind = all & ~(now | (now - 1));
    return behind & -behind;
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
        if (order->masks[rank] & 1u << node && asked_before(order, node, rank) == order->entries - left)
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
    const uint64_t rank = time / ORDER_STEP, behind = time % ORDER_STEP;
    if (!retiming.gap || !rank || rank > order->ranks || behind >= retiming.gap)
        return time;
    return retiming.base + rank * retiming.gap + behind;
}

uint64_t order_retime_back(const struct order *order, struct retiming retiming, uint64_t time)
{
    const uint64_t far = time - retiming.base;
    if (!retiming.gap || time < retiming.base + retiming.gap || far >= (order->ranks + 1ull) * retiming.gap)
        return time;
    return far / retiming.gap * ORDER_STEP + far % retiming.gap;
}
