// SPDX-License-Identifier: MIT
/* The block that each of the two members writes into the file. */
#ifndef CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_BLOCK_H
#define CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_BLOCK_H

#include "group/proposal.h"

#define CV_DISK_PAXOS_BLOCK_BYTES 4096u /* of the file for each block, so that no sector of a disk holds both */
#define CV_DISK_PAXOS_RECORD_BYTES 512u /* of them in use: any disk writes so many at once or not at all */

struct cv_disk_paxos_block {
    uint64_t epoch;           /* of the last entry that this member knows to be agreed; 0: none */
    struct cv_proposal entry; /* what that entry says */
    uint64_t promised;        /* the highest ballot of this member; no two members share a ballot */
    uint64_t accepted;        /* the ballot in which this member accepted `value` for the next entry; 0: none */
    struct cv_proposal value;
    struct cv_lease_terms lease; /* the terms that the writer counts by */
    uint32_t longest_ttl_s;      /* of all promises that the writer has taken part in, or is about to */
};

/* A proposal as a word. Its seating is always the same: two members and the file vote. unpack: false if it is none. */
uint32_t cv_disk_paxos_pack(const struct cv_proposal *proposal);
bool cv_disk_paxos_unpack(uint32_t word, const struct cv_roster *roster, struct cv_proposal *proposal);
/* Writes a block of that member as bytes, and pads them with zeros. */
void cv_disk_paxos_write(const struct cv_disk_paxos_block *block, const struct cv_roster *roster, cv_node member,
                         unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES]);
/* NULL, or what is wrong with the bytes. All zeros: the block was never written. */
const char *cv_disk_paxos_read(const unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES], const struct cv_roster *roster,
                               cv_node member, struct cv_disk_paxos_block *block);

#endif
