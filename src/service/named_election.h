// SPDX-License-Identifier: MIT
/*
 * Elections by name that an algorithm decides. Each node stands for the best of its candidates that wait, with that
 * candidate's priority as its attribute, and the elected node asks for the critical section. The election says who
 * shall lead next; the section says who does, so that there is one leader even while nodes disagree. A node that gets
 * in and is not the elected one any more leaves at once.
 */
#ifndef CONCLAVE_SERVICE_NAMED_ELECTION_H
#define CONCLAVE_SERVICE_NAMED_ELECTION_H

#include "service/peer_notice.h"

struct lock;

/* Tells the others if this node has a better candidate now, or a worse one, or none. */
void named_election_update(struct lock *lock);
/* Has this node's candidate been elected? */
bool named_election_won(const struct lock *lock);
/* The member tells: an election has come to a result, or has lost it. */
void named_election_elected(void *context, struct cv_instance *election);
/* Another node has a candidate, or has none any more. */
void named_election_hear(struct cv_service *service, const struct peer_notice *notice);

#endif
