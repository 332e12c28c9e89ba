// SPDX-License-Identifier: MIT
/* The threads of a search, what they share, and how they wait for each other. */
#ifndef CONCLAVE_CHECK_SEARCH_CREW_H
#define CONCLAVE_CHECK_SEARCH_CREW_H

#include <pthread.h>

#include "check/reduce/reducer.h"
#include "check/search/frontier.h"
#include "check/search/search.h"

/* States expanded together, so that while one is at work the cache fetches what the others will need. */
#define GROUP 12u
static_assert((GROUP + 1) * MOST_SLOTS <= MOST_ENABLED, "what can happen in a group must be kept");

/* Where threads wait till all have come. */
struct meeting {
    _Atomic uint32_t waiting, held;
};

/* What the threads share. */
struct crew {
    struct search *search;
    struct model *model;
    struct worker *workers;
    uint32_t threads;
    uint64_t patience;
    struct reduction_gain gain; /* does reduction pay? */
    bool deep;                  /* depth first */
    bool done, growing;         /* only changed when all threads have met */
    _Atomic bool stop;
    _Atomic bool wants_room;        /* the table is to grow: everybody is to help */
    struct meeting level_end, move; /* nothing is left to do on this level; in this part of the table's growth */
    _Atomic uint32_t idle;          /* depth first: threads that have no states */
    _Atomic bool cut;               /* depth first: there are states too deep to look at */
    pthread_mutex_t lock;           /* of the spot, how it ends and who is idle */
    struct chunk_store chunks;
};

/* Its own lines of the cache: what one thread writes all the time another must not have to read. */
struct worker {
    _Alignas(128) struct crew *crew;
    uint32_t number;
    struct expander expander;
    struct reducer reducer;
    struct frontier frontier;
    uint32_t base[GROUP][MOST_SLOTS];
    struct fingerprint fingerprints[GROUP];
    struct enabled_set enabled_sets[GROUP];
    uint32_t ends[GROUP];        /* where the successors of each end */
    uint32_t obligations[GROUP]; /* how many of them must happen */
    uint64_t transitions, expanded, saved, rests;
    uint64_t fresh;   /* states added to the table and not yet counted there */
    uint32_t deepest; /* level, depth first */
    bool may_cycle, reduced;
    _Atomic uint64_t remembered; /* bytes of what it has worked out so far */
};

/* Ends the search, unless it has ended before. */
void crew_halt(struct crew *crew, enum search_end end);

/* Notes how much memory is held now; if that is too much the search ends. */
void crew_note_memory(struct crew *crew);

/* Waits till all threads have come. The last to come does what is to be done by one alone. */
void crew_meet(struct crew *crew, struct meeting *meeting, void (*alone)(struct crew *));

/* Takes part when the table is to grow, because somebody wants room. */
void crew_help(struct crew *crew);

/* Lets the table grow, with the help of all threads: they come when they have finished what they are at. */
void crew_grow(struct crew *crew);

#endif
