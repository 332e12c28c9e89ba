// SPDX-License-Identifier: MIT
/* Messages of other members, and how libraft is told of them. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_HEAR_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_HEAR_H

#include "group/raft/agreement.h"

struct peer;

/* Handles an authentic message of that member. CV_EINPUT if it is malformed or forged: do not trust the member then. */
int cv_agreement_hear(struct cv_agreement *agreement, uint64_t from, const void *bytes, size_t length);
/* The peer of that id, a new one if there is room; NULL otherwise. */
struct peer *cv_agreement_peer(struct cv_agreement *agreement, uint64_t id);

#endif
