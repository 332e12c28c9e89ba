// SPDX-License-Identifier: MIT
/* A search through all states, by several threads: breadth first, level by level, or depth first. */
#ifndef CONCLAVE_CHECK_SEARCH_SEARCH_H
#define CONCLAVE_CHECK_SEARCH_SEARCH_H

#include "check/expand/expander.h"
#include "check/search/judge.h"
#include "check/state/table.h"

/* Where a property is violated: in a state, or in a step out of it. */
struct spot {
    bool found;
    uint32_t level;
    uint64_t fingerprint; /* of the state */
    struct cv_finding finding;
    bool in_step;          /* a step out of the state violates it */
    struct successor step; /* that step, without its changes */
};

enum search_end {
    SEARCH_COMPLETE,
    SEARCH_FOUND,
    SEARCH_MEMORY,
    SEARCH_INTERRUPTED,
    SEARCH_DEPTH,
    SEARCH_REDUCTION_FAILED, /* the algorithm does what a reduction relies on not being done */
    SEARCH_LEARNT            /* there were new observations: with them, another search can leave out more */
};

struct search {
    struct model *model;
    struct table table;
    enum search_end end;
    struct spot spot; /* if SEARCH_FOUND */
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;  /* states in which nothing must happen any more */
    uint64_t bytes; /* the most held at once */
    uint32_t depth;
    bool reduced;   /* events were left out */
    bool may_cycle; /* some step led back to an earlier level */
};

/*
 * `patience`: if there are new observations, the search ends after this many states (SEARCH_LEARNT).
 * 0; CV_EINPUT if a node cannot begin; CV_ENOMEM if the search cannot begin. Reaching the bound on memory later is an
 * end like others.
 */
int search_run(struct search *search, struct model *model, bool reduction, uint64_t patience);
void search_free(struct search *search);

#endif
