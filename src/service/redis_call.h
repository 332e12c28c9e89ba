// SPDX-License-Identifier: MIT
/*
 * What lock libraries for Redis ask for, as a row of steps: one for each name, by the same ways as LOCK, UNLOCK and
 * RENEW. The token of a lock is its secret, so whoever shows it may end or renew the hold at any member. Other than a
 * secret it is kept with the hold, and may be read.
 */
#ifndef CONCLAVE_SERVICE_REDIS_CALL_H
#define CONCLAVE_SERVICE_REDIS_CALL_H

#include "core/parse.h"

struct session;

enum redis_verb {
    REDIS_SET,      /* takes a free lock: OK or nil */
    REDIS_ACQUIRE,  /* takes all, or none: how many, or 0 */
    REDIS_RELEASE,  /* ends those with this token: how many */
    REDIS_EXTEND,   /* sets the time to live of those with this token: how many, or 0 */
    REDIS_LENGTHEN, /* adds to the time to live of one with this token: 1 or 0 */
    REDIS_GET,      /* the token, or nil */
    REDIS_FENCE,    /* the fence of the hold with this token, or nil */
    REDIS_EXISTS,   /* how many are held */
    REDIS_PTTL,     /* milliseconds; -1: without end; -2: nobody holds it */
    REDIS_TTL,      /* the same in seconds */
    REDIS_DEL,      /* ends those of this connection: how many */
    REDIS_PEXPIRE,  /* sets the time to live of one of this connection: 1 or 0 */
};

struct redis_order {
    enum redis_verb verb;
    const struct cv_text *names;
    uint32_t count;
    struct cv_text token;
    uint64_t ms; /* a time to live; REDIS_SET: 0 for none */
};

/* The session is busy until it is answered. */
void redis_call_run(struct session *session, const struct redis_order *order);

/* The session has got the lock that it tried, or has not. */
void redis_call_granted(struct session *session);
void redis_call_missed(struct session *session);
/* Ends the call, if there is one: an error was written, or the session is gone. */
void redis_call_end(struct session *session);

#endif
