// SPDX-License-Identifier: MIT
/*
 * A client's connection. Its commands are answered in order; while one waits, the next ones stay in the buffer. What
 * the session holds ends with it, unless that has a time to live.
 */
#ifndef CONCLAVE_SERVICE_SESSION_H
#define CONCLAVE_SERVICE_SESSION_H

#include "resp/resp_read.h"
#include "resp/resp_write.h"
#include "service/lock.h"
#include "service/peer_request.h"
#include "service/service.h"

#define SESSION_INPUT_BYTES ((size_t)64 << 10) /* more than any command: the rest is for those after one that waits */
#define SESSION_HIGH_WATER ((size_t)256 << 10)

struct hold_proof;
struct listing;
struct recipe_order;
struct recipe_tie;
struct redis_call;

struct session {
    struct cv_stream stream; /* first */
    struct cv_service *service;
    struct session *next, *previous;
    struct cv_resp_writer out;
    struct waiter wait;
    struct peer_request request;
    struct redis_call *redis;     /* a command of Redis that is being answered, or NULL */
    struct lock_hold *granting;   /* enough members have yet to know it */
    struct lock_hold *exchanging; /* UPGRADE or DOWNGRADE that is under way: the hold that is to be replaced, or NULL */
    struct lock_hold *untold;     /* the last one granted, while nothing has been sent since */
    struct lock_hold *holds;
    struct hold_proof *proofs;  /* of what it holds although another member keeps it */
    struct observer *observers; /* of the elections that it observes */
    uint64_t holding;           /* how many holds */
    uint64_t observing;         /* how many observers */
    struct lock_all *all;       /* LOCKALL that is under way, or NULL */
    struct recipe_order *order; /* of a recipe, that is being carried out, or NULL */
    struct recipe_tie *ties;    /* what belongs to it of recipes */
    uint64_t tied;              /* how many */
    struct listing *listing;    /* LOCKS that is being answered, or NULL */
    struct cv_chore chore;      /* more commands have come than one turn of the loop has time for */
    struct cv_alarm unfinished; /* a command has begun, and has to end by then */
    uint64_t number;            /* in the order of connecting */
    uint64_t since_ms;          /* when it connected, by cv_loop_coarse_ms() */
    struct cv_kept_text *name;  /* that its client has given itself, or NULL */
    struct cv_visitor visitor;
    char identity[CV_KEY_NAME_BYTES + 1];
    const struct cv_acl *acl; /* what it may do; NULL: everything */
    size_t read;              /* bytes of `in` that are dealt with */
    struct cv_alarm stay;     /* in a reserved place, until then */
    bool reserved;            /* it has a reserved place */
    bool leaving;             /* closes once everything is written */
    bool congested;           /* its output has to drain before the next command */
};

/* A client connects. */
void session_accept(struct cv_listener *listener);

/* The session acts under that name from now on; false if nobody may do anything under it. */
bool session_become(struct session *session, const char *identity);

/* The session has a hold that its client knows of. */
void session_have(struct session *session, struct lock_hold *hold);
/* The session has a hold; its client is told now or later. */
void session_take(struct session *session, struct lock_hold *hold);
/* The client of a hold without a session has come back by this one, and can be told things again. */
void session_adopt(struct session *session, struct lock_hold *hold);
/* Its client is told. */
void session_granted(struct lock_hold *hold);
/* Another member keeps the hold now. */
void session_hand_over(struct lock_hold *hold);
/* A client that took the lock by SET counts its time itself, as with Redis, and is not told that it is lost. */
bool session_counts_itself(const struct lock_hold *hold);
/* Tells the client that a hold is lost; `reason` starts at NULL: nobody wanted that. */
void session_tell_loss(struct session *session, const struct lock *lock, uint64_t fence, struct cv_text reason);
/* The hold is lost; its client is told. */
void session_lost(struct lock_hold *hold);
/* An operator has ended the hold; its client is told. */
void session_forced(struct lock_hold *hold, struct cv_text reason);
/* The hold is over: it leaves its session's list. */
void session_drop_hold(struct lock_hold *hold);

/* The client has waited long enough. */
void session_timed_out(struct waiter *wait);
/* It does not wait any more: there is nothing to wait for. */
void session_refuse(struct waiter *wait, const char *why);
void session_no_memory(struct waiter *wait);

#endif
