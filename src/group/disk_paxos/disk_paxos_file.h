// SPDX-License-Identifier: MIT
/*
 * A thread of its own reads and writes the tie-breaker's file or disk, so that the node never waits for a file server
 * that is gone. It opens the file anew each time, because the cache of a network file system may be stale.
 */
#ifndef CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_FILE_H
#define CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_FILE_H

#include "group/disk_paxos/disk_paxos.h"

struct cv_disk_paxos_file;

struct cv_disk_paxos_answer {
    char trouble[160]; /* why there is no answer; empty if there is one */
    unsigned char records[CV_DISK_PAXOS_MEMBERS][CV_DISK_PAXOS_RECORD_BYTES];
};

/* The thread calls `wake` when something is done. NULL if there is no memory, or no thread. */
struct cv_disk_paxos_file *cv_disk_paxos_file_open(const char *path, cv_node member, void (*wake)(void *data),
                                                   void *data);
/* Does not wait for the thread, which calls `wake` no more. */
void cv_disk_paxos_file_close(struct cv_disk_paxos_file *file);

/* Writes this member's record, unless it is NULL, and then reads both. Only one such request at a time. */
void cv_disk_paxos_file_start(struct cv_disk_paxos_file *file, const unsigned char *record);
/* True once when a request is done. */
bool cv_disk_paxos_file_done(struct cv_disk_paxos_file *file, struct cv_disk_paxos_answer *answer);

#endif
