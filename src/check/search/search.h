// SPDX-License-Identifier: MIT
/* Breadth first through all states, level by level, by several threads. */
#ifndef CONCLAVE_CHECK_SEARCH_SEARCH_H
#define CONCLAVE_CHECK_SEARCH_SEARCH_H

#include "check/expand/expander.h"
#include "check/search/judge.h"
#include "check/state/table.h"

/* Where something goes wrong: in a state, or in a step out of it. */
struct spot {
    bool found;
    uint32_t level;
    uint64_t fingerprint; /* of the state */
    struct cv_finding finding;
    bool in_step;
    struct successor step; /* its changes are not kept */
};

enum search_end {
    SEARCH_COMPLETE,
    SEARCH_FOUND,
    SEARCH_MEMORY,
    SEARCH_INTERRUPTED,
    SEARCH_DEPTH,
    SEARCH_REDUCTION_FAILED,
    SEARCH_LEARNT /* enough that was not known at the beginning: what was not left out now may be */
};

struct search {
    struct model *model;
    struct table table;
    enum search_end end;
    struct spot spot;
    uint64_t states, transitions, ends;
    uint64_t bytes; /* the most that were held */
    uint32_t depth;
    bool reduced;   /* orders were left out */
    bool may_cycle; /* some step led back to an earlier level */
};

/*
 * As long as something new is learnt it ends after so many states: `patience`.
 * 0; CV_EINPUT if a node cannot begin, CV_ENOMEM for what cannot be done without; running into the bound on memory is
 * an end like others.
 */
int search_run(struct search *search, struct model *model, bool reduction, uint64_t patience);
void search_free(struct search *search);

#endif
