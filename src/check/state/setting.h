// SPDX-License-Identifier: MIT
/* What does not change during a check, and what a state consists of. */
#ifndef CONCLAVE_CHECK_STATE_SETTING_H
#define CONCLAVE_CHECK_STATE_SETTING_H

#include "check/state/request_order.h"
#include "core/error.h"
#include "core/index.h"

struct setting {
    const struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    struct cv_check_options options;
    struct cv_group group; /* the scenario's, with `absence` set if somebody may be missing */
    struct cv_index index;
    uint32_t nodes, kinds, timers, claims;
    cv_id best;          /* the best of all nodes */
    bool learns;         /* what nodes are seen to do tells what they will do: see learns_now() */
    bool counts;         /* numbers that grow for ever are counted anew: see recount.c */
    bool renames;        /* states that differ in names only are one */
    bool without_clocks; /* Lamport clocks are dropped once nobody will ask any more, */
    bool caps;           /* or go no further than all requests, if that is all that matters */
    bool ordered;        /* clocks do not tick: see order.h; */
    bool forgets;        /* and nobody passes on what it has heard of the time */
    struct order order;
    bool asks;        /* whether each message can be: nothing happens that the algorithm does not assume */
    bool falls_apart; /* who lives may be out of reach: a graph, or links that are cut */
    bool any_caller;  /* the result does not depend on who calls */
    /* As long as nothing fails, of elections is judged at every state: */
    bool best_always;  /* nobody follows anybody but the best, if there are no timeouts to take silence for death */
    bool agree_always; /* no two follow different leaders, otherwise */
};

int setting_init(struct setting *setting, const struct cv_scenario *scenario, const struct cv_check_options *options);
void setting_free(struct setting *setting);

/* ---- a node, and everything that is not a node ---- */

enum node_state_flag {
    NODE_ALIVE = 1u << 0,
    NODE_FRESH = 1u << 1,   /* election: it has not taken part, and may still call */
    NODE_STARTED = 1u << 2, /* election: it called; kept only where that makes a difference */
    NODE_KNOWS = 1u << 3,   /* `leader` */
    NODE_CALLING = 1u << 4,
    NODE_WAITING = 1u << 5, /* mutex: it wants to enter */
    NODE_INSIDE = 1u << 6
};

/* A node: what the runtime keeps of it, and its own state behind that. The bytes are the value. */
struct node_state {
    uint32_t node;
    uint32_t flags;
    cv_id leader;
    uint32_t suspects;              /* a bit for each node it holds for dead */
    uint32_t unheard;               /* a bit for each that was lost and is back, and neither was told */
    uint32_t back;                  /* a bit for each that is back, which is still to be told */
    uint32_t left;                  /* mutex: entries to come */
    uint32_t asked;                 /* mutex: when, by its clock, if it waits; kept only where clocks are capped */
    uint64_t clock;                 /* Lamport's, if the algorithm reads it */
    uint64_t timers[CV_MAX_TIMERS]; /* 0: not armed; otherwise the time left, plus 1; 1 if they fire at any time */
    unsigned char state[];
};

/* What is left of the budgets; who died unnoticed; which links are cut; the highest fence so far. */
struct budgets {
    uint64_t highest;
    uint32_t crashes, misses, suspicions;
    uint32_t missed; /* a bit for each of the dead whose death need not be told */
    uint32_t recoveries, cuts;
    struct cv_links apart;
};

static inline bool is_mutex(const struct setting *setting)
{
    return setting->algorithm->problem == CV_MUTEX;
}

/* The fence of who is inside from the beginning: of an earlier view than this. */
#define FIRST_FENCE 1u

/*
 * Among those who live: nobody will ask any more, and clocks go no further than a time that is later than that of all
 * who wait. If clocks are dropped that is 0.
 */
#define HUSHED (1u << 31)
#define DROP_CLOCKS_SHIFT 16u
#define DROP_CLOCKS_MOST 0x7fffu
#define LIVES 0xffffu

/* The clock, as far as it goes. */
static inline uint64_t clock_of(const struct setting *setting, uint32_t alive, uint64_t clock)
{
    const uint64_t most = alive & HUSHED ? alive >> DROP_CLOCKS_SHIFT & DROP_CLOCKS_MOST : UINT64_MAX;
    const uint64_t capped = !setting->algorithm->clocked ? 0 : clock < most ? clock : most;
    return setting->ordered ? capped / ORDER_STEP * ORDER_STEP : capped;
}

/* Does a node change by its own steps alone, and not with every tick of a clock? Those that are capped change too. */
static inline bool is_settled(const struct setting *setting, uint32_t alive)
{
    return !setting->algorithm->clocked || setting->ordered || (alive & HUSHED && !setting->caps);
}

/* Then what it was seen to do tells what it will do. */
static inline bool learns_now(const struct setting *setting, uint32_t alive)
{
    return setting->learns && is_settled(setting, alive);
}

/*
 * Whom a node can reach: the living, but over links that are cut; in a graph those it is connected with by the living.
 */
uint32_t setting_reach(const struct setting *setting, const struct cv_links *apart, uint32_t alive, cv_node node);

/* Who is connected with whom, over the living: the first node of its part for each; UINT32_MAX for the dead. */
void setting_parts(const struct setting *setting, const struct cv_links *apart, uint32_t alive, uint32_t *slot);

/*
 * Some can be reached again, a bit for each: what a node keeps of that. What it was told stays so till it is told
 * otherwise, but for who was dead: that one makes itself known. What it was not told yet it will be, unless it need not
 * be (`untold`).
 */
void node_state_regain(const struct setting *setting, struct node_state *node_state, uint32_t again, uint32_t untold);

size_t node_state_bytes(const struct setting *setting, cv_node node);

#endif
