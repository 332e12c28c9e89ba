// SPDX-License-Identifier: MIT
/*
 * What a state of the group consists of: the states of nodes, and what is left of the budgets. The bytes are the value.
 */
#ifndef CONCLAVE_CHECK_STATE_NODE_STATE_H
#define CONCLAVE_CHECK_STATE_NODE_STATE_H

#include "check/setting/setting.h"

enum node_state_flag {
    NODE_ALIVE = 1u << 0,
    NODE_FRESH = 1u << 1,   /* election: it has not taken part and may still call; otherwise: it has yet to start */
    NODE_STARTED = 1u << 2, /* election: it called; kept only where the result depends on the callers */
    NODE_KNOWS = 1u << 3,   /* `leader` is set */
    NODE_CALLING = 1u << 4, /* election: its own election is under way */
    NODE_WAITING = 1u << 5, /* mutex: it waits to enter */
    NODE_INSIDE = 1u << 6,  /* mutex: it is in the critical section */
    NODE_RESULT = 1u << 7   /* `result` and `via` are set; kept only if results are judged */
};

/* What the runtime keeps of a node, followed by the algorithm's own state. */
struct node_state {
    uint32_t node;
    uint32_t flags; /* enum node_state_flag */
    cv_id leader;
    uint32_t suspects;              /* a bit for each node that it suspects */
    uint32_t unheard;               /* a bit for each node that was lost and is back; it was told neither */
    uint32_t back;                  /* a bit for each node that is back; it is still to be told */
    uint32_t requests_left;         /* mutex: requests still to make */
    uint32_t request_clock;         /* mutex: the clock of its request, if it waits; kept only if clocks are capped */
    uint64_t clock;                 /* Lamport's, if the algorithm reads it */
    uint64_t timers[CV_MAX_TIMERS]; /* 0: not armed; otherwise the time left, plus 1; 1 if it may fire at any time */
    uint64_t result;                /* its last result */
    cv_node via;                    /* the neighbour that it learnt the result from */
    uint32_t unused;
    unsigned char state[];
};

size_t node_state_bytes(const struct setting *setting, cv_node node);

/* Synchronizers: the round that a live node is in; 0 before the first, and after the last one more than there are. */
static inline uint64_t node_state_round(const struct setting *setting, const struct node_state *node_state)
{
    uint64_t round;
    memcpy(&round, node_state->state + setting->group.hosted_at, sizeof round);
    return round;
}

/* The bytes of the longest node state. */
size_t node_state_most_bytes(const struct setting *setting);

/*
 * The node can reach some others again: a bit for each in `again`. If it was told of the loss, it will be told of the
 * return. If it was not told yet, it will be told of both, except of nodes in `untold`, which need not be reported.
 */
void node_state_regain(const struct setting *setting, struct node_state *node_state, uint32_t again, uint32_t untold);

/* The part of a state that belongs to no node. */
struct budgets {
    uint64_t highest_fence; /* so far */
    uint32_t crashes;       /* left */
    uint32_t misses;        /* left */
    uint32_t suspicions;    /* left */
    uint32_t missed;        /* a bit for each dead node whose crash need not be reported */
    uint32_t recoveries;    /* left */
    uint32_t cuts;          /* left */
    struct cv_links cut_links;
};

#endif
