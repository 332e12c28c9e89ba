// SPDX-License-Identifier: MIT
/*
 * A scenario: an algorithm, its group, the callers, the network and the faults. A runtime plays it, the theory
 * evaluates the texts' formulas for it, and the properties judge the run by it.
 */
#ifndef CONCLAVE_CORE_SCENARIO_SCENARIO_H
#define CONCLAVE_CORE_SCENARIO_SCENARIO_H

#include <conclave/algorithm.h>

#include "core/graph/graph.h"
#include "core/quorum.h"
#include "core/scenario/cluster.h"

#define CV_NEVER UINT64_MAX
#define CV_MAX_ALTERNATES 32u
#define CV_LABEL_BYTES 13u /* core/scenario/label.h */

enum cv_delay_model { CV_DELAY_UNIT, CV_DELAY_UNIFORM, CV_DELAY_EXPONENTIAL };

struct cv_delay {
    enum cv_delay_model model;
    uint64_t low;  /* CV_DELAY_UNIFORM: the shortest delay; CV_DELAY_EXPONENTIAL: the mean */
    uint64_t high; /* CV_DELAY_UNIFORM: the longest delay */
};

/* When a planned crash happens: at a time, or before or after the node first sends a message of some kind. */
enum cv_moment { CV_AT, CV_BEFORE, CV_AFTER };

struct cv_crash {
    cv_node node;
    enum cv_moment moment;
    uint32_t kind; /* CV_BEFORE, CV_AFTER: the kind of the message */
    uint64_t time; /* CV_AT; at 0 the node is dead from the start, and no node is told */
};

struct cv_recovery {
    cv_node node;
    uint64_t time;
};

/* From `begin` to `end` no message of a node of one side reaches a node of another side. */
struct cv_partition {
    uint32_t *side; /* by node; nodes that no side names share the last side */
    uint64_t begin;
    uint64_t end;
};

struct cv_pair {
    cv_node one;   /* CV_NOBODY: every node */
    cv_node other; /* CV_NOBODY: every node */
};

/* Messages of that kind, from one to the other, take that many ticks instead of the usual delay. */
struct cv_lag {
    struct cv_pair pair; /* both may be the same node: a vote for oneself is a message, too */
    uint32_t kind;       /* CV_MAX_KINDS: all kinds */
    uint64_t ticks;
};

struct cv_suspicion {
    struct cv_pair pair; /* `one` falsely suspects `other` */
    uint64_t time;
};

/* A request to enter, at that time, or when the node's last entry is over, if that is later. */
struct cv_wish {
    cv_node node;
    uint32_t name; /* the critical section */
    uint64_t time;
    uint64_t hold; /* how long the node stays inside */
};

struct cv_scenario {
    const struct cv_algorithm *algorithm;
    struct cv_group group;
    struct cv_graph graph;          /* CV_GRAPH; the group points into it */
    cv_id *ids;                     /* by node */
    uint32_t *attributes;           /* by node; NULL: the attribute is the id */
    bool zero_rank;                 /* the rank of some node is 0, which otherwise means nobody */
    char (*labels)[CV_LABEL_BYTES]; /* by node: the name in what people read; NULL: the id */
    int64_t *parameters;            /* in the order of the algorithm's table */

    const struct cv_algorithm *app; /* the synchronous algorithm that a synchronizer hosts; otherwise NULL */
    struct cv_group app_group;      /* the group as the app sees it, with the app's parameters */
    int64_t *app_parameters;        /* in the order of the app's table */
    bool alone;                     /* the user named the app alone: the synchronizer is the synchronous network */
    uint32_t *ends;                 /* by entry of neighbours[]: see struct cv_group */
    struct cv_clusters clusters;    /* the group points into them */

    cv_node *callers; /* the nodes that call at time 0, in node order */
    uint32_t caller_count;
    bool everyone_calls;

    struct cv_wish *wishes; /* mutex: the requests, if the user lists them; otherwise every node has a closed loop */
    uint32_t wish_count;
    uint32_t names;                      /* mutex: the number of critical sections side by side */
    uint64_t entries;                    /* mutex, closed loop: how often every node enters */
    uint64_t hold;                       /* mutex, closed loop: how long it stays inside */
    uint64_t think;                      /* mutex, closed loop: how long it waits before its next request */
    uint64_t *clocks;                    /* mutex: initial Lamport clocks, by node; NULL: all are 0 */
    struct cv_quorums quorums;           /* mutex: voting sets; the group points into them */
    const struct cv_algorithm *election; /* mutex: the algorithm that elects a new coordinator */
    bool views;                          /* mutex: a new view begins when a node dies or comes back */

    uint64_t seed;
    struct cv_delay delay;
    struct cv_lag *lags; /* of several that fit, the last counts */
    uint32_t lag_count;
    bool slow_gadget;      /* the lags are those that belong to the gadget, and no others */
    uint64_t loss_32;      /* the probability that a packet is lost, times 2^32 */
    uint64_t duplicate_32; /* the probability that a packet arrives twice, times 2^32 */
    bool reorder;          /* packets overtake each other; a reliable channel restores the order */
    bool unordered;        /* messages overtake each other, and no channel restores the order */
    bool serial;           /* a link carries one message at a time; the next one waits */

    struct cv_crash *crashes;
    struct cv_recovery *recoveries;
    struct cv_partition *partitions;
    struct cv_pair *alternates; /* links that no partition cuts */
    struct cv_suspicion *suspicions;
    struct cv_pair *blindness; /* `one` never learns that `other` died */
    uint32_t crash_count;
    uint32_t recovery_count;
    uint32_t partition_count;
    uint32_t alternate_count;
    uint32_t suspicion_count;
    uint32_t blind_count;
    uint64_t detect; /* the time from a fault until the failure detector reports it */
    uint64_t until;  /* the time at which a run is given up */
};

/* Releases what the scenario owns. */
void cv_scenario_free(struct cv_scenario *scenario);

/* The longest time that a packet takes over one link; for exponential delays, a time that is hardly ever exceeded. */
uint64_t cv_delay_bound(const struct cv_delay *delay);

/* The longest time that a message can take on this network. Timeouts rely on it unless the user sets another bound. */
uint64_t cv_scenario_bound(const struct cv_scenario *scenario);

/* The time after which the reliable channel sends an unacknowledged packet again. */
uint64_t cv_scenario_retry(const struct cv_scenario *scenario);

/* Is the node down from the start? */
bool cv_scenario_dead(const struct cv_scenario *scenario, cv_node node);

/* Does the network lose, double or reorder packets, so that a reliable channel is needed? */
static inline bool cv_scenario_raw(const struct cv_scenario *scenario)
{
    return scenario->loss_32 || scenario->duplicate_32 || scenario->reorder;
}

/* Does an app get fewer rounds than the n − 1 that are enough on every network? Then it promises less. */
static inline bool cv_scenario_cut_short(const struct cv_scenario *scenario)
{
    return scenario->app && scenario->group.rounds + 1 < scenario->group.nodes;
}

/*
 * The source of paths: the parameter `source` of the algorithm or of its app, by default the node with the smallest id.
 */
cv_node cv_scenario_source(const struct cv_scenario *scenario);

/* The claims (enum cv_claim) of the algorithm and of its app, with the parameters of this scenario. */
uint32_t cv_scenario_claims(const struct cv_scenario *scenario);

/* election, mutex, synchronizer, synchronous or paths */
const char *cv_problem_name(uint32_t problem);

/* The number of an algorithm's kinds of messages, timers and parameters. */
uint32_t cv_algorithm_kinds(const struct cv_algorithm *algorithm);
uint32_t cv_algorithm_timers(const struct cv_algorithm *algorithm);
uint32_t cv_algorithm_parameters(const struct cv_algorithm *algorithm);

/* The default value of a parameter. */
int64_t cv_parameter_usual(const struct cv_parameter *parameter);

/* The kind of that name, or CV_MAX_KINDS. */
uint32_t cv_kind_find(const struct cv_algorithm *algorithm, const char *name, size_t length);

#endif
