// SPDX-License-Identifier: MIT
/*
 * What is to be run: an algorithm, its group, the callers, what the network does and what goes wrong. A runtime
 * plays it, the theory evaluates the textbook's formula for it, the properties judge the run by it.
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
    uint64_t low; /* uniform: low..high; exponential: the mean is low */
    uint64_t high;
};

/* When a planned crash happens: at a time, or as the node first sends a message of some kind. */
enum cv_moment { CV_AT, CV_BEFORE, CV_AFTER };

struct cv_crash {
    cv_node node;
    enum cv_moment moment;
    uint32_t kind;
    uint64_t time; /* CV_AT; at 0 the node is dead from the start and nobody is told */
};

struct cv_recovery {
    cv_node node;
    uint64_t time;
};

/* From `begin` to `end` nothing sent by a node of one side reaches a node of another. */
struct cv_partition {
    uint32_t *side; /* per node; nodes that no side names share the last side */
    uint64_t begin, end;
};

struct cv_pair {
    cv_node one, other; /* CV_NOBODY: everybody */
};

/* Messages of that kind, from one to the other, take so many ticks whatever the others take. */
struct cv_lag {
    struct cv_pair pair; /* both may be the same: a vote for oneself is a message too */
    uint32_t kind;       /* CV_MAX_KINDS: all */
    uint64_t ticks;
};

struct cv_suspicion {
    struct cv_pair pair;
    uint64_t time;
};

/* A request for the critical section of some name: at that time, or when the node's last one is over, if later. */
struct cv_wish {
    cv_node node;
    uint32_t name;
    uint64_t time, hold;
};

struct cv_scenario {
    const struct cv_algorithm *algorithm;
    struct cv_group group;
    struct cv_graph graph; /* CV_GRAPH; the group points into it */
    cv_id *ids;
    uint32_t *attributes;
    char (*labels)[CV_LABEL_BYTES]; /* what people call the nodes, or NULL: by their ids */
    int64_t *parameters;

    const struct cv_algorithm *app; /* what the synchronizer hosts; NULL elsewhere */
    struct cv_group app_group;      /* the group as the app sees it: with its own parameters */
    int64_t *app_parameters;
    bool alone;                  /* nobody asked for a synchronizer: it is the synchronous network itself */
    uint32_t *ends;              /* of the graph's rows, for the synchronizer */
    struct cv_clusters clusters; /* the group points into them */

    cv_node *callers; /* the nodes that call at time 0, in node order */
    uint32_t caller_count;
    bool everyone_calls;

    struct cv_wish *wishes; /* mutex: the requests, if they are listed */
    uint32_t wish_count;
    uint32_t names;                /* mutex: how many critical sections there are side by side */
    uint64_t entries, hold, think; /* mutex: otherwise every node enters so often, for so long, after such a pause */
    uint64_t *clocks;              /* initial Lamport clocks, or NULL: all 0 */
    struct cv_quorums quorums;     /* voting sets; the group points into them */
    const struct cv_algorithm *election; /* the one that elects a new coordinator */
    bool views;                          /* a new view begins when somebody dies or comes back */

    uint64_t seed;
    struct cv_delay delay;
    struct cv_lag *lags; /* the last that fits counts */
    uint32_t lag_count;
    bool slow_gadget;               /* the lags are those that belong to the gadget, and no others */
    uint64_t loss_32, duplicate_32; /* probabilities, times 2^32 */
    bool reorder;                   /* packets overtake each other below the reliable channel */
    bool unordered;                 /* and no channel puts messages back in order */
    bool serial;                    /* a link carries one message at a time: the others wait for it */

    struct cv_crash *crashes;
    struct cv_recovery *recoveries;
    struct cv_partition *partitions;
    struct cv_pair *alternates; /* links that no partition cuts */
    struct cv_suspicion *suspicions;
    struct cv_pair *blindness; /* `one` never learns that `other` died */
    uint32_t crash_count, recovery_count, partition_count, alternate_count, suspicion_count, blind_count;
    uint64_t detect; /* the failure detector tells so long after the fact */
    uint64_t until;  /* give up then */
};

/* Releases what the scenario owns. */
void cv_scenario_free(struct cv_scenario *scenario);

/* The longest one packet takes over one link; for exponential delays, a time hardly ever exceeded. */
uint64_t cv_delay_bound(const struct cv_delay *delay);

/* The longest a message can take on this network; what timeouts may rely on unless the user sets another. */
uint64_t cv_scenario_bound(const struct cv_scenario *scenario);

/* After how long the reliable channel sends an unacknowledged packet again. */
uint64_t cv_scenario_retry(const struct cv_scenario *scenario);

/* Is the node down from the start? */
bool cv_scenario_dead(const struct cv_scenario *scenario, cv_node node);

/* Does the raw network misbehave, so that a reliable channel has to mend it? */
static inline bool cv_scenario_raw(const struct cv_scenario *scenario)
{
    return scenario->loss_32 || scenario->duplicate_32 || scenario->reorder;
}

/* Does an app get fewer rounds than the n − 1 that are enough for every network? Then it promises less. */
static inline bool cv_scenario_cut_short(const struct cv_scenario *scenario)
{
    return scenario->app && scenario->group.rounds + 1 < scenario->group.nodes;
}

/* Where paths begin: the parameter `source` of the algorithm or of its app; the smallest id if there is none. */
cv_node cv_scenario_source(const struct cv_scenario *scenario);

/* What the algorithm, and the app it hosts, claim with the parameters they have here (enum cv_claim). */
uint32_t cv_scenario_claims(const struct cv_scenario *scenario);

/* election, mutex, synchronizer, synchronous or paths */
const char *cv_problem_name(uint32_t problem);

/* How many kinds of messages, timers, parameters an algorithm has. */
uint32_t cv_algorithm_kinds(const struct cv_algorithm *algorithm);
uint32_t cv_algorithm_timers(const struct cv_algorithm *algorithm);
uint32_t cv_algorithm_parameters(const struct cv_algorithm *algorithm);

/* The value that a parameter has if nobody says otherwise. */
int64_t cv_parameter_usual(const struct cv_parameter *parameter);

/* The kind of that name, or CV_MAX_KINDS. */
uint32_t cv_kind_find(const struct cv_algorithm *algorithm, const char *name, size_t length);

#endif
