// SPDX-License-Identifier: MIT
/*
 * What a connection holds although another member keeps it now. The connection's node shows the hold's secret for it,
 * counts how often it has taken the hold again, and tells it when the hold ends. A proof lasts as long as this node
 * knows the promise of its hold (service/ttl_promise.h).
 */
#ifndef CONCLAVE_SERVICE_HOLD_PROOF_H
#define CONCLAVE_SERVICE_HOLD_PROOF_H

#include "service/lock.h"

struct hold_proof {
    struct session *session;
    struct lock *lock;
    struct hold_proof *next, *previous; /* of the same lock */
    struct hold_proof *more, *less;     /* of the same session */
    uint64_t fence;
    uint64_t digest[2]; /* of the secret */
    uint64_t permits;
    uint64_t again; /* as in struct lock_hold */
    bool shared;
    bool own;    /* the session was granted the hold, and has not only renewed it for somebody else */
    bool quiet;  /* its client counts the time itself */
    bool forced; /* its client was told */
};

/* Another member keeps the hold from now on. Without memory its connection ends: nobody could tell it of the loss. */
void hold_proof_make(const struct lock_hold *hold);
/* This node keeps the hold again: its connection has it as before. */
void hold_proof_return(struct lock_hold *hold);
/* The session's proof for that lock, or NULL. `fence`: of the hold; 0: any, what it was granted before others. */
struct hold_proof *hold_proof_find(const struct session *session, const struct lock *lock, uint64_t fence);
/* The hold is forced: its client is told. */
void hold_proof_forced(const struct lock *lock, uint64_t fence);
/* The hold has ended: its client is told, unless it has just asked for that. */
void hold_proof_over(const struct lock *lock, uint64_t fence);
/* A view has begun: those holds that it does not know of have ended. */
void hold_proof_resume(const struct lock *lock);
void hold_proof_drop(struct hold_proof *proof);

#endif
