// SPDX-License-Identifier: MIT
/* What does not change during a search: the scenario, the options, and what follows from both. */
#ifndef CONCLAVE_CHECK_SETTING_SETTING_H
#define CONCLAVE_CHECK_SETTING_SETTING_H

#include "check/setting/request_order.h"
#include "check/setting/search_options.h"
#include "core/error.h"
#include "core/index.h"
#include "core/scenario/scenario.h"

struct setting {
    const struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    struct cv_check_options options;
    struct cv_group group; /* the scenario's; `absence` is set if a node may be missing */
    struct cv_index index;
    uint32_t nodes;
    uint32_t kinds;
    uint32_t timers;
    uint32_t claims;
    cv_id best;          /* the best of all nodes */
    bool predicts;       /* what nodes were observed to do tells what they will do: see setting_predicts() */
    bool renumbers;      /* counters that grow for ever are renumbered: see renumber.h */
    bool renames;        /* states that differ only in names are one state */
    bool drops_clocks;   /* Lamport clocks stop after the last request */
    bool caps_clocks;    /* they are capped at a time later than all requests, instead of dropped */
    bool ordered;        /* clocks do not tick: see request_order.h */
    bool forgets_clocks; /* ordered: no node passes on a time that it has heard of */
    struct order order;
    bool validates;     /* each message is validated: nothing happens that the algorithm does not assume */
    bool may_partition; /* live nodes may be out of reach: a graph, or cut links */
    bool all_start;     /* every node starts some time, whatever it has heard before: neither election nor mutex */
    bool has_results;   /* the results of the nodes are judged */
    bool any_caller;    /* the result does not depend on who calls */
    bool best_always;   /* election without timeouts: while nothing has failed, every leader is the best node */
    bool agree_always;  /* election with timeouts: while nothing has failed, no two nodes follow different leaders */
};

int setting_init(struct setting *setting, const struct cv_scenario *scenario, const struct cv_check_options *options);
void setting_free(struct setting *setting);

static inline bool setting_is_mutex(const struct setting *setting)
{
    return setting->algorithm->problem == CV_MUTEX;
}

/* The fence of the node that is inside at the beginning. It belongs to an earlier view. */
#define FIRST_FENCE 1u

/*
 * The checker passes the live nodes as a mask with two more fields:
 *
 *     bits  0..15  a bit for each live node
 *     bits 16..30  the cap of the clocks, if they are stopped; 0: they are dropped
 *     bit  31      no request is left, so the clocks are stopped
 */
#define ALIVE_MASK 0xffffu
#define CLOCK_CAP_SHIFT 16u
#define CLOCK_CAP_MOST 0x7fffu
#define CLOCKS_STOPPED (1u << 31)

/* The clock as the algorithm may see it: capped, or rounded to the times of requests. */
static inline uint64_t setting_clock(const struct setting *setting, uint32_t alive, uint64_t clock)
{
    const uint64_t most = alive & CLOCKS_STOPPED ? alive >> CLOCK_CAP_SHIFT & CLOCK_CAP_MOST : UINT64_MAX;
    const uint64_t capped = !setting->algorithm->hints.clocked ? 0 : clock < most ? clock : most;
    return setting->ordered ? capped / ORDER_STEP * ORDER_STEP : capped;
}

/* Does a node change by its own steps only? Not while its clock ticks, or is capped. */
static inline bool setting_is_stable(const struct setting *setting, uint32_t alive)
{
    return !setting->algorithm->hints.clocked || setting->ordered || (alive & CLOCKS_STOPPED && !setting->caps_clocks);
}

/* Does what a node was observed to do tell what it will do? */
static inline bool setting_predicts(const struct setting *setting, uint32_t alive)
{
    return setting->predicts && setting_is_stable(setting, alive);
}

/* The live nodes that a node can reach: over links that are not cut, in a graph over any number of them. */
uint32_t setting_reach(const struct setting *setting, const struct cv_links *cut_links, uint32_t alive, cv_node node);

/* The connected component of each node: its first live node; UINT32_MAX for a dead node. */
void setting_components(const struct setting *setting, const struct cv_links *cut_links, uint32_t alive,
                        uint32_t *components);

/* The bytes of a node's algorithm state, rounded up to words. */
size_t setting_state_bytes(const struct setting *setting, cv_node node);

#endif
