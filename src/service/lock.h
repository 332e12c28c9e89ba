// SPDX-License-Identifier: MIT
/*
 * The named things that clients ask for, on this node: the clients that wait, and those that hold. A lock and the
 * leadership of an election are the same here: a critical section, entered by the node through the name's algorithm and
 * then given to its own clients one after the other.
 *
 * Once inside, the node serves up to HANDOFFS clients before it leaves and queues up again after the other nodes: a
 * name that one node's clients fight over costs one entry for many of them, and nobody elsewhere waits for ever. Where
 * an election chooses between candidates, a node asks to enter only while its own candidate is the elected one, and
 * lets in one of them at a time. Clients that share hold it together, on all nodes (service/sharing.h), as long as no
 * client waits that does not want to share.
 */
#ifndef CONCLAVE_SERVICE_LOCK_H
#define CONCLAVE_SERVICE_LOCK_H

#include "core/kept_text.h"
#include "live/host/host.h"
#include "live/net/loop.h"
#include "service/claim.h"
#include "service/leader.h"
#include "service/peer_notice.h"
#include "service/sharing.h"

#define HANDOFFS 16u
#define LONGEST_MS CV_LONGEST_TTL_MS /* no client waits longer, and no time to live is longer */

struct hold_proof;
struct lock;
struct session;

/* A client that waits: part of its session, which does one thing at a time. */
struct waiter {
    struct cv_alarm alarm; /* it waits no longer */
    struct session *session;
    struct lock *lock; /* NULL: it does not wait */
    struct waiter *next, *previous;
    uint64_t ttl_ms; /* 0: as long as the session lasts */
    int64_t priority;
    uint64_t since_ms;          /* by cv_loop_coarse_ms() */
    uint64_t told_place;        /* that it was told last; 0: none */
    uint64_t ticket;            /* of a try */
    uint64_t digest[2];         /* of the secret */
    uint64_t claimed;           /* the fence that it was promised before everybody forgot; 0: it claims nothing */
    struct cv_kept_text *value; /* to be published by a leader, or NULL */
    uint64_t permits;           /* so many may hold it together; 0: any number that share, or one */
    bool shared;
    bool tries;    /* it does not want to wait, and nobody need make room for it */
    bool deadline; /* it wants to know how long it lasts, too */
};

/* A client that has been let in. */
struct lock_hold {
    struct cv_alarm alarm;   /* the time to live is over */
    struct session *session; /* NULL: it has gone, and left the lock to its time to live */
    uint64_t owner;          /* the session's number */
    struct lock *lock;
    uint64_t fence;
    uint64_t ttl_ms;
    uint64_t since_ms;                 /* by cv_loop_coarse_ms() */
    uint64_t asked_back_ms;            /* since when somebody has been asking for it; 0: nobody has */
    uint64_t reminded_ms;              /* when its client was told so last */
    uint64_t promised_us;              /* a renewal has told its client that it lasts until then */
    uint64_t digest[2];                /* of the secret with which it may be renewed and ended, by any member */
    struct cv_kept_text *client;       /* without a session: the name that its client had, or NULL */
    struct cv_kept_text *value;        /* that a leader publishes, or NULL */
    uint64_t permits;                  /* so many may hold it together; 0: any number that share, or one */
    cv_id origin;                      /* the node that granted it */
    cv_set aware;                      /* members that know its time to live, or the longer one */
    cv_set aware_forced;               /* members that know that it is forced */
    cv_set aware_ended;                /* members that know that it is over */
    uint64_t ending;                   /* it ends when all do: the ticket of the question; 0: it does not */
    uint64_t wanted_ms;                /* a longer time to live, until enough members know it; 0: none */
    uint64_t asked;                    /* the ticket of the member that asked for it, or forced it; 0: none has */
    cv_node asked_by;                  /* that member */
    struct lock_hold *next, *previous; /* of the same lock */
    struct lock_hold *more, *less;     /* of the same session */
    uint64_t replaces;                 /* the fence of the hold in whose place it came; 0: none */
    struct lock_hold *successor;       /* UPGRADE, DOWNGRADE: the hold that comes in its place; NULL: none yet */
    bool shared;
    uint64_t again;  /* how often its client has taken it again, REENTRANT, and not given it back */
    bool confirming; /* its client is told once enough members know it */
    bool ends_here;  /* this node records its end */
    bool lost;       /* its client has not ended it */
    bool forced;     /* an operator has ended it: it lasts until its client stops, or must have stopped */
    bool forcing;    /* the operator is told once enough members know it, or it is over */
};

/* A session that wants to know who leads. */
struct observer {
    struct session *session;
    struct lock *lock;
    struct observer *next, *previous; /* of the same name */
    struct observer *more;            /* of the same session */
};

struct lock {
    struct cv_service *service;
    struct cv_instance *instance;
    struct waiter *first, *last; /* in the order they are let in */
    struct cv_chore chore;       /* more are to be let in than one turn of the loop has time for */
    struct lock_hold *holds;
    struct lock_hold *exchanging; /* UPGRADE or DOWNGRADE: the hold that another one is to replace; NULL: none */
    struct hold_proof *proofs;    /* of this node's clients that hold it although another member keeps the hold */
    struct observer *observers;
    uint64_t waiting; /* how many wait */
    uint64_t holding; /* how many hold it */
    struct sharing sharing;
    struct claims claims;

    struct lock *next_moved, *previous_moved; /* of those whose queues have changed */
    bool moved;                               /* it is one of them */

    struct leader leader;    /* elections: the latest this node has heard of */
    cv_set watchers;         /* members whose clients watch it */
    cv_set unaware;          /* members that have yet to say that they know its end */
    uint64_t rests_until_us; /* a holder was lost: the lock-delay */

    /* Elections whose candidates are chosen from by an algorithm: [election PATTERN]. */
    struct cv_instance *election; /* of this view, once a candidate stands */
    bool elects;                  /* the name has one */
};

/* The lock of that name; NULL if there are too many names, or no memory. */
struct lock *lock_open(struct cv_service *service, enum cv_subject subject, struct cv_text name);
struct lock *lock_find(const struct cv_service *service, enum cv_subject subject, struct cv_text name);

/* Queues up; the answer comes to session_granted(), perhaps before this returns. */
void lock_wait(struct lock *lock, struct waiter *wait);
void lock_give_up(struct waiter *wait);
/* Gives to clients what can be given, asks for what cannot. */
void lock_serve(struct lock *lock);
/* Ends a hold, and serves those that wait. */
void lock_end(struct lock_hold *hold);
/* The same, but its client has not released it. */
void lock_lose(struct lock_hold *hold);
/* Another node granted it, and this one keeps it from now on. */
void lock_inherit(struct lock *lock, const struct cv_promise *promise);
/* The others are told of a hold with a time to live. */
void lock_promise(struct lock_hold *hold);
/* Enough members know it: its client is told. */
void lock_confirm(struct lock_hold *hold);
/* Its time to live begins anew. */
void lock_extend(struct lock_hold *hold);
struct lock_hold *lock_find_hold(const struct lock *lock, uint64_t fence);
/* Room for a hold, or NULL. */
struct lock_hold *lock_new_hold(struct cv_service *service);
void lock_add_hold(struct lock *lock, struct lock_hold *hold);
/* The hold is no more; nobody is told. */
void lock_forget(struct lock_hold *hold);
/* This node and its clients, as the readers' rules want to know them. */
struct sharing_queue lock_queue(const struct lock *lock);
/* The name of its client, or NULL. */
struct cv_kept_text *hold_client(const struct lock_hold *hold);
/* Does it belong to this session (which may be NULL), or is its secret shown? */
bool hold_authorizes(const struct lock_hold *hold, const struct session *session, const uint64_t digest[2]);

/* Tells one member, or everybody else in the view (CV_NOBODY), something about this name. The members that are told. */
cv_set lock_tell(const struct lock *lock, cv_node to, struct peer_notice notice);

/* ---- what the member tells ---- */

void lock_entered(struct cv_instance *instance);
/* A view has begun. */
void lock_resume(struct cv_instance *instance);
/* The lease has run out: nobody may hold anything here, but for what has a time to live. */
void lock_lease_lost(struct lock *lock);
/* Nor is there any use in waiting. */
void lock_refuse_waiting(struct lock *lock, const char *why);
/* Is the name in use? */
bool lock_keep(const struct cv_instance *instance);
void lock_ended(void *context, struct cv_instance *instance);
/* Another member says something about readers. */
void lock_hear_sharing(struct cv_service *service, const struct peer_notice *notice);

#endif
