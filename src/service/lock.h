// SPDX-License-Identifier: MIT
/*
 * The named things clients ask for, on this node: who waits, who holds. A lock and the leadership of an election are
 * the same here: a critical section, entered by the node through the name's algorithm and then given to its own clients
 * one after the other.
 *
 * Once inside, the node serves up to HANDOFFS clients before it leaves and queues up again behind the other nodes: a
 * name that one node's clients fight over costs one entry for many of them, and nobody elsewhere waits for ever.
 * Where an election chooses between candidates, a node asks to enter only while its own candidate is the elected one,
 * and lets in one of them at a time. Clients that share hold it together, on all nodes (service/sharing.h), as long as
 * nobody waits who does not want to share.
 */
#ifndef CONCLAVE_SERVICE_LOCK_H
#define CONCLAVE_SERVICE_LOCK_H

#include "live/host/host.h"
#include "live/net/loop.h"
#include "service/peer_notice.h"
#include "service/sharing.h"

#define CV_HANDOFFS 16u
#define CV_LONGEST_MS ((uint64_t)1 << 40) /* no client waits longer, and no time to live is longer */

struct cv_lock;
struct cv_session;
struct cv_service;

/* A client that waits: part of its session, which does one thing at a time. */
struct cv_wait {
    struct cv_alarm alarm; /* it waits no longer */
    struct cv_session *session;
    struct cv_lock *lock; /* NULL: it does not wait */
    struct cv_wait *next, *previous;
    uint64_t ttl_ms; /* 0: as long as the session lasts */
    int64_t priority;
    uint64_t since_ms;  /* by cv_loop_coarse_ms() */
    uint64_t ticket;    /* of a try */
    uint64_t digest[2]; /* of the secret */
    uint64_t claimed;   /* the fence that it was promised before everybody forgot; 0: it claims nothing */
    bool shared;
    bool tries;    /* it does not want to wait, and nobody need make room for it */
    bool deadline; /* it wants to know how long it lasts, too */
};

/* A client that has been let in. */
struct cv_hold {
    struct cv_alarm alarm;      /* the time to live */
    struct cv_session *session; /* NULL: it has gone, and left the lock to its time to live */
    uint64_t owner;             /* the session's number */
    struct cv_lock *lock;
    uint64_t fence;
    uint64_t ttl_ms;
    uint64_t since_ms;               /* by cv_loop_coarse_ms() */
    uint64_t promised_us;            /* a renewal has told its client that it lasts until then */
    uint64_t digest[2];              /* whoever shows this may renew and end it, by any member */
    cv_id origin;                    /* the node that granted it */
    cv_set aware;                    /* members that know its time to live */
    struct cv_hold *next, *previous; /* with the same lock */
    struct cv_hold *more, *less;     /* of the same session */
    bool shared;
    bool confirming; /* its client is told once enough members know it */
    bool ends_here;  /* its end is for this node to record */
};

/* Somebody who wants to know who leads. */
struct cv_watch {
    struct cv_session *session;
    struct cv_lock *lock;
    struct cv_watch *next, *previous; /* of the same name */
    struct cv_watch *more;            /* of the same session */
};

/* Who leads, or has led. */
struct cv_leader {
    cv_id id; /* of the node that granted it */
    bool leads;
    uint64_t session;
    uint64_t fence;
};

struct cv_lock {
    struct cv_service *service;
    struct cv_instance *instance;
    struct cv_wait *first, *last;
    struct cv_chore chore; /* more are to be let in than one turn of the loop has time for */
    struct cv_hold *holds;
    struct cv_watch *watches;
    uint64_t waiting, holding;
    uint64_t entries; /* of this node in this view: the count of the last */
    bool spent;       /* the view has no more fences for it */
    struct cv_sharing sharing;

    struct cv_leader leader; /* elections: the latest this node has heard of */
    cv_set unaware;          /* members who have yet to say that they know its end */
    uint64_t rests_until_us; /* a holder was lost: the lock-delay */

    /* Elections whose candidates are chosen from by an algorithm: [election PATTERN]. */
    struct cv_instance *ballot; /* of this view, once somebody stands */
    bool balloted;
};

/* The lock of that name; NULL if there are too many names. */
struct cv_lock *cv_lock_open(struct cv_service *service, enum cv_subject subject, struct cv_text name);
struct cv_lock *cv_lock_find(const struct cv_service *service, enum cv_subject subject, struct cv_text name);

/* Queues up; the answer comes to cv_session_granted(), perhaps before this returns. */
void cv_lock_wait(struct cv_lock *lock, struct cv_wait *wait);
void cv_lock_give_up(struct cv_wait *wait);
/* Gives to clients what can be given, asks for what cannot. */
void cv_lock_serve(struct cv_lock *lock);
/* Ends a hold, whoever's turn it is then is served. */
void cv_lock_end(struct cv_hold *hold);
/* The same, but it was not released by its client. */
void cv_lock_lose(struct cv_hold *hold);
/* Another node granted it, and this one keeps it from now on. */
void cv_lock_inherit(struct cv_lock *lock, const struct cv_promise *promise);
/* Enough members know it: its client is told. */
void cv_lock_confirm(struct cv_hold *hold);
/* Was it asked for by this session, or is the secret shown? */
bool cv_hold_obeys(const struct cv_hold *hold, const struct cv_session *session, const uint64_t digest[2]);
/* Its time to live begins anew. */
void cv_lock_extend(struct cv_hold *hold);
struct cv_hold *cv_lock_hold(const struct cv_lock *lock, uint64_t fence);

/* ---- ballot.c ---- */

/* Tells the others if this node has a better candidate now, or a worse one, or none. */
void cv_named_election_update(struct cv_lock *lock);
/* Has this node's candidate been elected? */
bool cv_named_election_won(const struct cv_lock *lock);
/* Another node has a candidate, or has none any more. */
void cv_named_election_heard(struct cv_service *service, const struct peer_notice *notice);
void cv_named_election_elected(void *context, struct cv_instance *ballot);

/* ---- what the member tells ---- */

void cv_lock_entered(struct cv_instance *instance);
void cv_lock_resume(struct cv_instance *instance); /* in a new view */
void cv_lock_abandon(struct cv_lock *lock);        /* nobody may hold anything here */
void cv_lock_disperse(struct cv_lock *lock);       /* nor is there any use in waiting */
bool cv_lock_keep(const struct cv_instance *instance);
void cv_lock_ended(void *context, struct cv_instance *instance);
/* Another member says something about readers. */
void cv_lock_hear_sharing(struct cv_service *service, const struct peer_notice *notice);

/* ---- leader.c ---- */

/* A client of this node leads from now on, or does not any more. */
void cv_leader_announce(struct cv_lock *lock, const struct cv_hold *hold, bool leads);
/* News of different nodes come in any order; the fences tell which is the latest. */
void cv_leader_learn(struct cv_lock *lock, const struct cv_leader *leader);
void cv_leader_resume(struct cv_lock *lock); /* in a new view */

/* ---- ttl_promise.c ---- */

/* It has a time to live, or not; it has begun, or is over. */
void cv_ttl_promise(struct cv_hold *hold);
void cv_ttl_end(const struct cv_hold *hold);
/* The promise of that fence as this view knows it, or NULL. */
struct cv_promise *cv_ttl_find(const struct cv_lock *lock, uint64_t fence);
/* In a new view: this node keeps some promises of others from now on. */
void cv_ttl_inherit(struct cv_lock *lock);
/* The client of this one was not told yet, and does not wait any more. */
void cv_ttl_take_back(struct cv_hold *hold);

/* ---- delay.c ---- */

/* A holder was lost just now. */
void cv_delay_begin(struct cv_lock *lock);
/* Has this node to stay inside because of that? */
bool cv_delay_rests(const struct cv_lock *lock);
/* Was a node lost, so that nothing may be granted yet? */
bool cv_delay_holds_off(const struct cv_lock *lock);

#endif
