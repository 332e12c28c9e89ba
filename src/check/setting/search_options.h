// SPDX-License-Identifier: MIT
/* What a check may do: which faults, which reductions, how much memory. */
#ifndef CONCLAVE_CHECK_SETTING_SEARCH_OPTIONS_H
#define CONCLAVE_CHECK_SETTING_SEARCH_OPTIONS_H

#include <signal.h>

#include "check/setting/link_set.h"

struct cv_check_progress {
    uint64_t states;
    uint64_t queue; /* states that wait to be expanded */
    uint64_t bytes;
    uint32_t depth;
    const char *phase; /* what the checker is doing */
};

/* Does a search fix the order of the requests beforehand? STRICT leaves out the orders with equal times. */
enum cv_orders { CV_NO_ORDERS, CV_STRICT_ORDERS, CV_ALL_ORDERS };

struct cv_check_options {
    uint32_t callers;           /* a bit for each node that may call the election, or request to enter */
    cv_node inside;             /* mutex: the node inside at the beginning; CV_NOBODY: nobody is */
    uint32_t crashes;           /* nodes that may crash */
    uint32_t missed;            /* of those, crashes that the detector may never report */
    uint32_t suspicions;        /* times that the detector may suspect a live node */
    uint32_t recoveries;        /* times that a crashed node may recover */
    uint32_t cuts;              /* times that a link may be cut; a cut link may heal */
    struct cv_links may_be_cut; /* the links that may be cut; none: all of them */
    uint32_t threads;           /* at least 1 */
    uint32_t most_depth;        /* the search ends at this depth; 0: no bound */
    uint64_t memory;            /* bytes not to exceed */
    bool any_time;              /* an armed timer may fire at any time */
    uint32_t delay;             /* a message takes at most so many ticks, and timers fire on time; 0: see `any_time` */
    bool reduction;             /* leave out orders of events that lead to the same states */
    bool symmetry;              /* identify states that differ only in names, where the algorithm allows it */
    bool no_counters;           /* do not renumber counters that grow for ever */
    bool drop_clocks;           /* drop the clocks after the last request, if only requests read them */
    uint32_t orders;            /* enum cv_orders, where an algorithm uses clocks only to order requests */
    bool deep;                  /* depth first */
    bool wide;                  /* fingerprints of 128 bits */
    const char *disk;           /* the directory that keeps the frontier; NULL: memory keeps it */
    struct cv_checkpoint *checkpoint; /* where to write checkpoints, and to go on from; NULL: nowhere */
    struct cv_ranks *ranks;           /* that share the search; NULL: there is one */
    const char *property;             /* look for violations of this property only; NULL: of all */
    volatile sig_atomic_t *interrupted;
    void (*progress)(void *context, const struct cv_check_progress *progress);
    void *progress_context;
};

#endif
