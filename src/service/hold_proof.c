// SPDX-License-Identifier: MIT
#include "service/hold_proof.h"

#include <stdlib.h>

#include "service/session.h"
#include "service/ttl_promise.h"

void hold_proof_make(const struct lock_hold *hold)
{
    struct session *session = hold->session;
    struct lock *lock = hold->lock;
    const struct cv_roster *roster = lock->service->host->roster;
    if (!session || session->stream.closing)
        return;
    struct hold_proof *proof = malloc(sizeof *proof);
    if (!proof) {
        cv_stream_close(&session->stream);
        return;
    }
    *proof = (struct hold_proof){.session = session,
                                 .lock = lock,
                                 .next = lock->proofs,
                                 .more = session->proofs,
                                 .fence = hold->fence,
                                 .digest = {hold->digest[0], hold->digest[1]},
                                 .permits = hold->permits,
                                 .again = hold->again,
                                 .shared = hold->shared,
                                 .own = hold->owner == session->number && hold->origin == roster->ids[roster->me],
                                 .quiet = session_counts_itself(hold),
                                 .forced = hold->forced};
    if (proof->next)
        proof->next->previous = proof;
    if (proof->more)
        proof->more->less = proof;
    lock->proofs = session->proofs = proof;
}

void hold_proof_drop(struct hold_proof *proof)
{
    *(proof->previous ? &proof->previous->next : &proof->lock->proofs) = proof->next;
    if (proof->next)
        proof->next->previous = proof->previous;
    *(proof->less ? &proof->less->more : &proof->session->proofs) = proof->more;
    if (proof->more)
        proof->more->less = proof->less;
    free(proof);
}

/* At most one connection has a proof for a hold. */
static struct hold_proof *proof_of(const struct lock *lock, uint64_t fence)
{
    struct hold_proof *proof = lock->proofs;
    while (proof && proof->fence != fence)
        proof = proof->next;
    return proof;
}

struct hold_proof *hold_proof_find(const struct session *session, const struct lock *lock, uint64_t fence)
{
    struct hold_proof *found = NULL;
    for (struct hold_proof *proof = lock ? lock->proofs : NULL; proof; proof = proof->next)
        if (proof->session == session && (!fence || proof->fence == fence) && (!found || proof->own))
            found = proof;
    return found;
}

static void tell_loss(const struct hold_proof *proof)
{
    if (!proof->forced && !proof->quiet)
        session_tell_loss(proof->session, proof->lock, proof->fence, (struct cv_text){NULL, 0});
}

void hold_proof_forced(const struct lock *lock, uint64_t fence)
{
    struct hold_proof *proof = proof_of(lock, fence);
    if (!proof)
        return;
    tell_loss(proof);
    proof->forced = true;
}

void hold_proof_return(struct lock_hold *hold)
{
    struct hold_proof *proof = proof_of(hold->lock, hold->fence);
    if (!proof)
        return;
    if (hold->forced)
        tell_loss(proof);
    hold->again = proof->again;
    session_have(proof->session, hold);
    hold_proof_drop(proof);
}

static void end(struct hold_proof *proof)
{
    if (!peer_request_ends(proof->session, proof->lock, proof->fence))
        tell_loss(proof);
    hold_proof_drop(proof);
}

void hold_proof_over(const struct lock *lock, uint64_t fence)
{
    struct hold_proof *proof = proof_of(lock, fence);
    if (proof)
        end(proof);
}

/* The keeper says once more which holds are forced. */
void hold_proof_resume(const struct lock *lock)
{
    for (struct hold_proof *proof = lock->proofs, *next; proof; proof = next) {
        next = proof->next;
        if (!ttl_promise_find(lock, proof->fence))
            end(proof);
    }
}
