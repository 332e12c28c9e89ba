// SPDX-License-Identifier: MIT
/*
 * Keeps bad messages from libraft, which believes every message, while a member may be broken or hostile. The guard
 * refuses a message that no correct member can have sent, and the sender is no longer trusted. It drops a message that
 * only comes at a bad moment: Raft's messages may be lost, and the next one repeats it.
 */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_GUARD_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_GUARD_H

#include "group/raft/agreement_parts.h"

enum agreement_guard {
    GUARD_WELCOME,
    GUARD_UNWELCOME, /* the message comes at a bad moment */
    GUARD_FORGED     /* no correct member sends that */
};

enum agreement_guard cv_agreement_guard(const struct cv_agreement *agreement, uint64_t from,
                                        const struct envelope *envelope, const struct raft_message *message);
/* Can these bytes be an entry? Can they be the state in a snapshot up to that index? */
bool agreement_entry_fits(const struct cv_agreement *agreement, unsigned type, const void *bytes, size_t length);
bool agreement_state_fits(const struct cv_agreement *agreement, uint64_t last_index, const void *bytes, size_t length);

#endif
