// SPDX-License-Identifier: MIT
/* The threads of a search, what they share, and how they wait for each other. */
#ifndef CONCLAVE_CHECK_SEARCH_CREW_H
#define CONCLAVE_CHECK_SEARCH_CREW_H

#include <pthread.h>

#include "check/reduce/reducer.h"
#include "check/search/frontier_file.h"
#include "check/search/search.h"
#include "check/search/state_exchange.h"
#include "core/apart.h"

/* States expanded together. While the thread works on one, the cache fetches what the others need. */
#define GROUP 12u
static_assert((GROUP + 1) * MOST_SLOTS <= MOST_ENABLED, "all enabled events of a group must fit");

/* A barrier: threads wait here until all have come. */
struct barrier {
    _Atomic uint32_t waiting; /* threads that have come */
    _Atomic uint32_t passed;  /* how often all have come */
};

/* What the threads share. */
struct crew {
    struct search *search;
    struct model *model;
    struct worker *workers;
    uint32_t threads;
    struct exchange *exchange;  /* with other ranks; NULL: there are none. Then there is one thread */
    uint64_t patience;          /* as search_run() takes it */
    struct reduction_gain gain; /* does reduction pay? */
    bool deep;                  /* depth first */
    bool done;                  /* all threads end; changes only at a barrier */
    bool growing;               /* the table grows; changes only at a barrier */
    bool cannot_grow;           /* there is no memory for that; the same */
    _Atomic bool stop;
    _Atomic bool wants_save;  /* a checkpoint is due: all threads must come to a stop */
    _Atomic bool wants_room;  /* the table must grow, and all threads must help */
    struct barrier level_end; /* all states of the level are expanded */
    struct barrier save;      /* all threads are between two chunks */
    struct barrier move;      /* all entries of this part of the table have moved */
    _Atomic uint32_t idle;    /* depth first: threads that have no states */
    _Atomic bool cut;         /* depth first: there are states below the greatest depth */
    pthread_mutex_t lock;     /* of the spot, of the search's end, and of `idle` */
    struct chunk_store chunks;
};

/* A thread. It has its own cache lines: no thread reads a line that another one writes all the time. */
struct worker {
    _Alignas(CV_APART) struct crew *crew;
    uint32_t number;
    struct expander expander;
    struct reducer reducer;
    struct frontier frontier;
    struct frontier_file file;        /* if the frontier is on disk */
    struct parent_buffer *parents;    /* NULL: the table has the parents */
    uint32_t base[GROUP][MOST_SLOTS]; /* the states of the group, and for each: */
    struct fingerprint fingerprints[GROUP];
    struct enabled_set enabled_sets[GROUP];
    uint32_t successor_ends[GROUP]; /* where its successors end */
    uint32_t obligations[GROUP];    /* how many of them must happen */
    uint64_t transitions;
    uint64_t expanded;           /* states where the reduction was tried */
    uint64_t saved;              /* of those, states where it left out events */
    uint64_t end_states;         /* states in which nothing must happen any more */
    uint64_t fresh;              /* states added to the table but not yet to its count */
    uint32_t deepest;            /* depth first: the deepest level */
    bool may_cycle;              /* a step led back to an earlier level */
    bool reduced;                /* events were left out */
    _Atomic uint64_t remembered; /* bytes of its memos */
};

/* Ends the search, unless it has ended before. */
void crew_halt(struct crew *crew, enum search_end end);

/* Updates the most memory held. If it is above the bound, the search ends. */
void crew_note_memory(struct crew *crew);

/* Waits until all threads have come. The last one calls `alone` before they go on. */
void crew_meet(struct crew *crew, struct barrier *barrier, void (*alone)(struct crew *));

/* Is the search in a state from which it could go on? */
bool crew_may_save(const struct crew *crew);

/* Writes a checkpoint as soon as all threads have come, when `wants_save` is set. */
void crew_save(struct crew *crew);

/* Helps the table to grow, when `wants_room` is set. */
void crew_help(struct crew *crew);

/* Makes the table grow. All threads help as soon as they have finished their current work. */
void crew_grow(struct crew *crew);

#endif
