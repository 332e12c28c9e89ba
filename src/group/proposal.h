// SPDX-License-Identifier: MIT
/* What members agree on: an entry of the log, or a value of Disk Paxos. */
#ifndef CONCLAVE_GROUP_PROPOSAL_H
#define CONCLAVE_GROUP_PROPOSAL_H

#include "group/seating.h"

struct cv_buffer;
struct cv_cursor;

struct cv_proposal {
    cv_set members;
    cv_node coordinator;
    cv_node proposer;
    bool pinned; /* an operator chose the coordinator, so it stays */
    struct cv_seating seating;
};

void cv_proposal_write(const struct cv_proposal *proposal, struct cv_buffer *bytes);
/* False if the bytes do not begin with a proposal. Others may follow it. */
bool cv_proposal_read(struct cv_cursor *bytes, struct cv_proposal *proposal);

#endif
