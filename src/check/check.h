// SPDX-License-Identifier: MIT
/*
 * The checker: every order of events of a small group, where the simulator plays one.
 *
 * An event is one handler call: a message arrives, a node calls, asks or leaves, a timer fires, the detector tells.
 * Crashes, missed crashes and false suspicions come out of budgets, at any point.
 */
#ifndef CONCLAVE_CHECK_CHECK_H
#define CONCLAVE_CHECK_CHECK_H

#include <signal.h>

#include "check/decision.h"
#include "property/property.h"

#define CV_CHECK_MOST_NODES 16u

struct cv_check_progress {
    uint64_t states, queue, bytes;
    uint32_t depth;
    const char *phase; /* what is being done */
};

/* Is the order in which requests happen laid down beforehand? If equal times make no difference, without these. */
enum cv_orders { CV_NO_ORDERS, CV_STRICT_ORDERS, CV_ALL_ORDERS };

/* A set of links: pairs of nodes. */
struct cv_links {
    uint64_t bits[2];
};

static inline uint32_t cv_link_number(cv_node one, cv_node other)
{
    const cv_node low = one < other ? one : other, high = one < other ? other : one;
    return high * (high - 1) / 2 + low;
}

static inline bool cv_links_have(const struct cv_links *links, cv_node one, cv_node other)
{
    const uint32_t number = cv_link_number(one, other);
    return one != other && links->bits[number / 64] >> number % 64 & 1;
}

static inline void cv_links_flip(struct cv_links *links, cv_node one, cv_node other)
{
    const uint32_t number = cv_link_number(one, other);
    links->bits[number / 64] ^= 1ull << number % 64;
}

static inline bool cv_links_are_none(const struct cv_links *links)
{
    return !(links->bits[0] | links->bits[1]);
}

struct cv_check_options {
    uint32_t callers;           /* a bit for each node that may call the election, or ask to enter */
    cv_node inside;             /* mutex: the view begins with this node inside; CV_NOBODY: with nobody */
    uint32_t crashes;           /* so many nodes may die */
    uint32_t missed;            /* of so many of them nobody need ever be told */
    uint32_t suspicions;        /* so often a live node is held for dead */
    uint32_t recoveries;        /* so often one of the dead comes back */
    uint32_t cuts;              /* so often a link between two nodes is cut; it may be healed */
    struct cv_links may_be_cut; /* these links alone; none: any */
    uint32_t threads;           /* at least 1 */
    uint32_t most_depth;        /* look no further; 0: to the end */
    uint64_t memory;            /* bytes not to exceed */
    bool any_time;              /* timers may fire whenever they are armed */
    bool reduction;             /* leave out orders that come to the same */
    bool symmetry;              /* take states that differ in names only for one, where the algorithm allows it */
    bool no_counters;           /* take numbers that grow for ever as they are */
    bool drop_clocks;           /* once nobody will ask any more, if nothing but requests looks at them */
    uint32_t orders;            /* enum cv_orders, where the order of requests is all that clocks are for */
    bool deep;                  /* depth first */
    bool wide;                  /* fingerprints of 128 bits */
    const char *property;       /* look for violations of this one alone; NULL: of any */
    volatile sig_atomic_t *interrupted;
    void (*progress)(void *context, const struct cv_check_progress *progress);
    void *progress_context;
};

struct cv_check_result {
    struct cv_judgement judgement; /* of all that was seen; leader and costs are not used */
    bool complete;
    const char *stopped; /* why it is not */
    bool reduced;        /* orders were left out */
    bool cyclic;         /* some run never ends, or may not: cycles were looked at */
    uint64_t states, transitions;
    uint64_t ends; /* states in which nothing must happen any more */
    uint32_t depth;
    uint64_t bytes; /* the most memory that was held */
    double seconds;
    double collision;      /* the chance that two states had one fingerprint */
    struct cv_trail trail; /* the counterexample; empty if there is none */
    char promise[160];   /* the algorithm's table promises something about names that is not so, or may not be; or "" */
    bool broken_promise; /* the former */
    bool confirmed;      /* playing it again, by other code, violates the same property */
    struct cv_complaint complaint;
};

/* 0; CV_EINPUT if a node cannot begin, as the complaint says; CV_ENOMEM. Free the result in any case. */
int cv_check_run(const struct cv_scenario *scenario, const struct cv_check_options *options,
                 struct cv_check_result *result);
void cv_check_free(struct cv_check_result *result);

#endif
