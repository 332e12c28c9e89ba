// SPDX-License-Identifier: MIT
/*
 * Readers of several nodes inside together. The algorithms know one node inside; that node lends its entry. Without
 * I/O: what is to be told to other members goes out through a call.
 *
 *     the lender, inside with readers              another node
 *     SHARES, to everybody            --------->   knows whom to ask
 *                                     <---------   BORROW: readers wait here, and no writer before them
 *     LEND, with fences to give       --------->   lets its readers in
 *                                     <---------   CLOSE: a writer waits here
 *     CLOSE, to every borrower        --------->   lets nobody else in
 *                                     <---------   RETURN: its readers are gone
 *     leaves when its own readers
 *     and all borrowers are gone
 *
 * A BORROW is always answered: with LEND, or with REFUSE if a writer waits or the wish comes too late. Whoever is told
 * so asks the algorithm, as a writer does, and so stands behind the writers that asked before: nobody starves.
 *
 * Why no writer is inside together with a reader: a writer is let in only by a node that is inside, has no reader
 * itself and has no borrower; a node is a borrower from the LEND until the lender has its RETURN, and returns when it
 * has no reader. While the lender is inside, nobody else is: that is what the algorithm promises. It counts on channels
 * that lose nothing, as within a view; a new view puts it together again from what every member says it holds.
 *
 * Readers that are inside together are a generation. Each has a fence of its own, out of those of the lender's entry:
 * higher than every writer's before, lower than every writer's after.
 */
#ifndef CONCLAVE_SERVICE_SHARING_H
#define CONCLAVE_SERVICE_SHARING_H

#include "group/view.h"

#define CV_LOAN 16u /* fences that are lent at a time */

enum cv_sharing_notice {
    CV_SHARING_SHARES,
    CV_SHARING_BORROW,
    CV_SHARING_LEND,
    CV_SHARING_REFUSE,
    CV_SHARING_CLOSE,
    CV_SHARING_RETURN
};

/* To one member, or to everybody else (CV_NOBODY). */
struct cv_sharing_word {
    enum cv_sharing_notice notice;
    uint64_t generation;
    uint64_t first; /* LEND: the first of the fences, */
    uint64_t entry; /* and the entry they belong to */
};

struct cv_sharing {
    void (*tell)(void *context, cv_node to, const struct cv_sharing_word *word);
    void *context;
    cv_node me;
    cv_node lender;      /* who can be asked, or has lent; CV_NOBODY: nobody is known to share */
    uint64_t generation; /* its first fence */
    uint64_t entry;      /* the algorithm's fence of the entry, this node's or the lender's */
    uint64_t first;      /* fence of this node's entry */
    uint64_t next, end;  /* fences that may be given */
    cv_set borrowers;    /* this node lends to them; */
    cv_set open;         /* those who may let more readers in */
    bool shares;         /* this node is inside with the generation, and all know */
    bool borrows;        /* this node's readers are inside by a loan */
    bool asked;          /* and the answer has not come */
    bool closed;         /* no more readers: a writer waits, or there are no fences left */
    bool told;           /* the lender knows that a writer waits here */
};

/* How things stand with this node and its clients. */
struct cv_queue {
    bool inside, wants; /* as the algorithm has it */
    bool waits;         /* somebody waits who may be let in, */
    bool reader;        /* wants to share, */
    bool firm;          /* and does not only try */
    bool shared;        /* those who hold it share */
    uint64_t holding;   /* how many do */
    uint64_t handoffs;  /* after so many others shall have their turn */
};

enum cv_turn {
    CV_TURN_REST,    /* nothing to do now */
    CV_TURN_GRANT,   /* let in the first who waits */
    CV_TURN_REQUEST, /* ask the algorithm */
    CV_TURN_LEAVE    /* leave the section */
};

/* What is to be done next; ask again when it is done. */
enum cv_turn cv_sharing_turn(struct cv_sharing *sharing, const struct cv_queue *queue);
/* The fence of whoever is let in now. */
uint64_t cv_sharing_grant(struct cv_sharing *sharing, const struct cv_queue *queue);
/* The algorithm has let this node in. */
void cv_sharing_enter(struct cv_sharing *sharing, uint64_t first, uint64_t entry);
void cv_sharing_hear(struct cv_sharing *sharing, const struct cv_queue *queue, cv_node from,
                     const struct cv_sharing_word *word);
/* A view begins in which these are inside together, the holder as the algorithm sees it; `first` is below all fences of
 * its own entries. */
void cv_sharing_resume(struct cv_sharing *sharing, const struct cv_queue *queue, cv_node holder, cv_set sharers,
                       uint64_t first, uint64_t entry);
/* The view is over, and this node is inside of nothing. */
void cv_sharing_forget(struct cv_sharing *sharing);

#endif
