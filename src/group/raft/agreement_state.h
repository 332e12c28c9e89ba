// SPDX-License-Identifier: MIT
/* The state machine that libraft feeds: it remembers the last entry and its index. A snapshot is these two. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_STATE_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_STATE_H

#include "group/raft/agreement.h"

void agreement_state_init(struct cv_agreement *agreement);

#endif
