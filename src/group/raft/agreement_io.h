// SPDX-License-Identifier: MIT
/* libraft's disk, which answers later, and its messages, which wait until the disk has what they rely on. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_IO_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_IO_H

#include "group/raft/agreement.h"

struct cv_identity;

void agreement_io_init(struct cv_agreement *agreement);
/* Begins the log, with the members of the options. */
int agreement_io_begin(struct cv_agreement *agreement);
/* Begins a new term, in which this member votes for itself. */
void agreement_io_stand(struct cv_agreement *agreement);
/* Sets the identity of the directory. */
void agreement_io_identify(struct cv_agreement *agreement, const struct cv_identity *identity);
/* Drops the entry of that index and all after it. */
void agreement_io_cut(struct cv_agreement *agreement, uint64_t index);
/* Is the snapshot well formed, if there is one? */
bool agreement_io_snapshot_fits(const struct cv_agreement *agreement);
void agreement_io_settle(struct cv_agreement *agreement);
/* Tells libraft the outcome of its requests. True if there was anything to tell. */
bool agreement_io_answer(struct cv_agreement *agreement);
/* Sends the messages that may leave now. */
void agreement_io_release(struct cv_agreement *agreement);

#endif
