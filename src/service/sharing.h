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
 * A BORROW is always answered: with LEND, or with REFUSE if a writer waits or the question comes too late. A node that
 * is refused asks the algorithm, as for a writer, and so queues up after the writers that asked before: nobody starves.
 *
 * A semaphore is the same with a number of permits: the lender lends one at a time, with one fence, so that fences
 * rise in the order of grants. Nodes wait for a permit in line, the lender among them. A borrower returns each permit
 * when its client is gone. When a view begins the borrowers tell the lender how many permits they have (HOLDS), and it
 * lends none before it knows.
 *
 * A reader can become a writer (UPGRADE), and a writer a reader, without leaving. Only the lender knows who else is
 * inside, so it decides:
 *
 *     the lender                                   a borrower
 *                                     <---------   UPGRADE: one of its readers wants to be alone
 *     CLOSE, to every borrower
 *     ALONE, with fences to give      --------->   once everybody else is gone; that reader is a writer now
 *                                     <---------   STAY: it is a reader again, or does not want to be alone any more
 *     OPEN, to everybody              --------->   readers may ask again
 *
 * A second node that says UPGRADE is refused (UPGRADING): two readers would wait for each other. Upgrades are numbered,
 * so that an ALONE that crosses a STAY does not answer the next one.
 *
 * Why no writer is inside together with a reader: a writer is let in only by a node that is inside, has no reader
 * itself and has no borrower. A node is a borrower from the LEND until the lender has its RETURN, and it returns when
 * it has no reader. While the lender is inside, no other node is: that is what the algorithm promises. A reader that
 * becomes a writer is the only one of its node, and of all borrowers, and the lender has none; nobody borrows until it
 * is a reader again, or gone. This counts on channels that lose nothing, as within a view; a new view puts it together
 * again from what every member says it holds. A borrower whose client is alone is the holder in the new view.
 *
 * Readers that are inside together are a generation. Each has a fence of its own, one that the lender may give: higher
 * than every writer's before, lower than every writer's after.
 */
#ifndef CONCLAVE_SERVICE_SHARING_H
#define CONCLAVE_SERVICE_SHARING_H

#include "group/view.h"

#define LOAN_FENCES 16u /* that are lent at a time */

enum sharing_kind {
    SHARING_SHARES,
    SHARING_BORROW,
    SHARING_LEND,
    SHARING_REFUSE,
    SHARING_CLOSE,
    SHARING_RETURN,
    SHARING_HOLDS,
    SHARING_UPGRADE,
    SHARING_UPGRADING,
    SHARING_ALONE,
    SHARING_STAY,
    SHARING_OPEN,
    SHARING_LAST = SHARING_OPEN
};

/* What one node tells another. */
struct sharing_message {
    enum sharing_kind kind;
    uint64_t generation;
    uint64_t first;   /* LEND, ALONE: the first of the fences; HOLDS: how many permits the sender has */
    uint64_t entry;   /* LEND: the entry that they belong to; UPGRADE and its answers: the number of the upgrade */
    uint64_t permits; /* how many may be inside together; 0: any number */
};

struct sharing {
    /* Tells one member, or everybody else (CV_NOBODY). */
    void (*tell)(void *context, cv_node to, const struct sharing_message *message);
    void *context;
    cv_node me;
    cv_node lender;      /* the node that can be asked, or has lent; CV_NOBODY: no node is known to share */
    uint64_t generation; /* its first fence */
    uint64_t entry;      /* the algorithm's fence of the entry, this node's or the lender's */
    uint64_t first;      /* the first fence of this node's entry */
    uint64_t next;       /* the next fence to give */
    uint64_t end;        /* fences from here on may not be given */
    uint64_t step;       /* between two fences of one node */
    cv_set borrowers;    /* this node lends to them */
    cv_set open;         /* borrowers that may let more readers in */
    bool shares;         /* this node is inside with the generation, and all know */
    bool borrows;        /* this node's readers are inside by a loan */
    bool asked;          /* the lender was asked, and has not answered */
    bool closed;         /* no more readers: a writer waits, or there are no fences left */
    bool told;           /* the lender knows that a writer waits here */

    uint64_t permits;             /* of the generation: how many may be inside together; 0: any number */
    bool mismatch;                /* the lender has refused a client because of other permits */
    bool shut;                    /* the lender: others were told that nobody is let in, for a reason that may pass */
    bool alone;                   /* nobody is inside but clients of the upgrader */
    cv_node upgrader;             /* the lender: the node whose client wants to be alone, or is; a borrower: itself */
    uint64_t upgrades;            /* of this node so far */
    uint64_t answers;             /* the lender: the number of the upgrader's upgrade */
    uint64_t has;                 /* a borrower: the permits that it has */
    uint64_t lent;                /* the lender: the permits that borrowers have */
    cv_set untold;                /* the lender: borrowers that have yet to tell how many they have */
    uint32_t in_line;             /* the lender: how many nodes wait for a permit */
    uint8_t line[CV_MAX_MEMBERS]; /* those nodes, this one among them, the first first */
};

/* This node and its clients, as the lock has them. */
struct sharing_queue {
    bool upgrades;     /* a client that shares waits to be alone */
    bool inside;       /* the algorithm has let this node in */
    bool wants;        /* the algorithm was asked */
    bool waits;        /* a client waits that may be let in */
    bool reader;       /* that client wants to share */
    bool firm;         /* that client does not only try */
    bool shared;       /* the clients that hold it share */
    uint64_t permits;  /* that the client who waits counts with; 0: any number */
    uint64_t held;     /* that the clients who hold it count with */
    uint64_t holding;  /* how many hold it */
    uint64_t handoffs; /* after so many grants other nodes have their turn */
};

enum sharing_turn {
    TURN_REST,     /* nothing to do now */
    TURN_GRANT,    /* let in the first client that waits */
    TURN_REQUEST,  /* ask the algorithm */
    TURN_LEAVE,    /* leave the section */
    TURN_MISMATCH, /* the first client that waits counts with other permits than those that hold it */
    TURN_UPGRADE,  /* the client that waits to be alone is */
    TURN_UPGRADING /* it is refused, since another one waits to be alone */
};

/* May a reader that comes now be let in beside those inside, as far as this node knows? */
bool sharing_has_room(const struct sharing *sharing, bool inside, uint64_t holding);
/* What is to be done next; ask again when it is done. */
enum sharing_turn sharing_next_turn(struct sharing *sharing, const struct sharing_queue *queue);
/* The fence of the client that is let in now. */
uint64_t sharing_grant(struct sharing *sharing, const struct sharing_queue *queue);

/* A client that shares wants to be alone. The next turns tell what has become of it. */
void sharing_upgrade(struct sharing *sharing, const struct sharing_queue *queue);
/* The view in which it said so is over. */
void sharing_end_upgrade(struct sharing *sharing);
/* It does not any more. */
void sharing_stay(struct sharing *sharing, const struct sharing_queue *queue);
/* Has this node a fence for a client that is alone and wants to share? */
bool sharing_can_downgrade(const struct sharing *sharing, const struct sharing_queue *queue);
/* The fence of the client that will be alone, or will share, instead of its last one. */
uint64_t sharing_exchange(struct sharing *sharing, const struct sharing_queue *queue, bool shares);
/* It has it now, and is alone. */
void sharing_upgraded(struct sharing *sharing, const struct sharing_queue *queue);
/* It has it now, and others may come in. */
void sharing_downgraded(struct sharing *sharing, const struct sharing_queue *queue);

/* The fences that a node may give, from its entry on. */
struct sharing_fences {
    uint64_t first, end, step;
};

/* The algorithm has let this node in. */
void sharing_enter(struct sharing *sharing, const struct sharing_fences *fences, uint64_t entry);
void sharing_hear(struct sharing *sharing, const struct sharing_queue *queue, cv_node from,
                  const struct sharing_message *message);
/*
 * A view begins in which these nodes are inside together, with the holder as the algorithm sees it; the first of the
 * fences is below all that are given in the view.
 */
void sharing_resume(struct sharing *sharing, const struct sharing_queue *queue, cv_node holder, cv_set sharers,
                    const struct sharing_fences *fences, uint64_t entry);
/* The view is over, and this node is inside of nothing. */
void sharing_forget(struct sharing *sharing);

#endif
