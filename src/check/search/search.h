// SPDX-License-Identifier: MIT
/* A search through all states, by several threads: breadth first, level by level, or depth first. */
#ifndef CONCLAVE_CHECK_SEARCH_SEARCH_H
#define CONCLAVE_CHECK_SEARCH_SEARCH_H

#include "check/expand/expander.h"
#include "check/search/judge.h"
#include "check/search/parent_log.h"
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

/* Which of two spots the search tells: the shorter way, then the one with the lower fingerprints. */
static inline bool spot_is_before(const struct spot *one, const struct spot *other)
{
    if (one->level != other->level)
        return one->level < other->level;
    if (one->fingerprint != other->fingerprint)
        return one->fingerprint < other->fingerprint;
    if (one->step.key.half[0] != other->step.key.half[0])
        return one->step.key.half[0] < other->step.key.half[0];
    return one->step.violations != other->step.violations ? one->step.violations < other->step.violations
                                                          : one->step.type < other->step.type;
}

enum search_end {
    SEARCH_COMPLETE,
    SEARCH_FOUND,
    SEARCH_MEMORY,
    SEARCH_DISK, /* a file of --disk cannot be made, written or read */
    SEARCH_INTERRUPTED,
    SEARCH_DEPTH,
    SEARCH_REDUCTION_FAILED, /* the algorithm does what a reduction relies on not being done */
    SEARCH_LEARNT            /* there were new observations: with them, another search can leave out more */
};

struct search {
    struct model *model;
    struct table table;
    struct spill_place disk;   /* if the search keeps its frontier on disk */
    struct parent_log parents; /* the same */
    enum search_end end;
    struct spot spot; /* if SEARCH_FOUND */
    uint64_t states;
    uint64_t transitions;
    uint64_t ends;  /* states in which nothing must happen any more */
    uint64_t bytes; /* the most held at once */
    uint32_t depth;
    uint64_t patience; /* with which it ended */
    bool reduced;      /* events were left out */
    bool may_cycle;    /* some step led back to an earlier level */
};

/*
 * `patience`: if there are new observations, the search ends after this many states (SEARCH_LEARNT).
 * 0; CV_EINPUT if a node cannot begin, or the checkpoint to go on from does not fit; CV_EFILE if the disk fails before
 * the search begins; CV_ENOMEM if there is no memory for that. Reaching the bound on memory later is an end like
 * others.
 */
int search_run(struct search *search, struct model *model, bool reduction, uint64_t patience);
void search_free(struct search *search);

/*
 * Lists the state of the spot and its ancestors, the initial state last, by fingerprints of which 48 bits count.
 * Returns their number; 0 without memory, or if the disk fails. The caller frees the list in any case.
 */
uint64_t search_ancestors(struct search *search, uint64_t **fingerprints);

#endif
