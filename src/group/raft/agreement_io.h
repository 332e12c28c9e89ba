// SPDX-License-Identifier: MIT
/* libraft's disk, which answers later, and its messages, which wait until the disk has what they rely on. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_IO_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_IO_H

#include "group/raft/agreement.h"

struct cv_identity;

void agreement_io_init(struct cv_agreement *agreement);
/* A log that begins with these members. */
int agreement_io_begin(struct cv_agreement *agreement);
/* A new term, in which this member votes for itself. */
void agreement_io_stand(struct cv_agreement *agreement);
/* The identity of the directory from now on. */
void agreement_io_identify(struct cv_agreement *agreement, const struct cv_identity *identity);
/* The entry of that index and all after it are gone. */
void agreement_io_cut(struct cv_agreement *agreement, uint64_t index);
/* Can the snapshot be one, if there is any? */
bool agreement_io_snapshot_fits(const struct cv_agreement *agreement);
void agreement_io_settle(struct cv_agreement *agreement);
/* Tells libraft the outcome of its requests. True if there was anything to tell. */
bool agreement_io_answer(struct cv_agreement *agreement);
/* Sends the messages that may leave now. */
void agreement_io_release(struct cv_agreement *agreement);

#endif
