// SPDX-License-Identifier: MIT
/*
 * Messages that libraft is not given. It believes every message, and a member may be broken or hostile. A message that
 * no member that keeps to Raft can have sent is refused, and its sender is not trusted any more. A message that only
 * comes at a bad moment is left out: Raft's messages may be lost, and the next one says it again.
 */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_GUARD_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_GUARD_H

#include "group/raft/agreement_parts.h"

enum agreement_guard {
    GUARD_WELCOME,
    GUARD_UNWELCOME, /* it comes at a bad moment */
    GUARD_FORGED     /* no member that keeps to Raft sends that */
};

enum agreement_guard cv_agreement_guard(const struct cv_agreement *agreement, uint64_t from,
                                        const struct envelope *envelope, const struct raft_message *message);
/* Can these bytes be an entry; can they be the state in a snapshot up to that index? */
bool agreement_entry_fits(const struct cv_agreement *agreement, unsigned type, const void *bytes, size_t length);
bool agreement_state_fits(const struct cv_agreement *agreement, uint64_t last_index, const void *bytes, size_t length);

#endif
