// SPDX-License-Identifier: MIT
/*
 * A journal on disk, kept by a thread of its own, so that nothing waits for it. Records are written and synced in the
 * order in which they are submitted, and the submitter asks which are done. After the first failure
 * nothing is written any more, because the state of a disk after an error is unknown.
 */
#ifndef CONCLAVE_GROUP_RAFT_DISK_H
#define CONCLAVE_GROUP_RAFT_DISK_H

#include "group/raft/files.h"
#include "group/raft/journal.h"

struct cv_disk_options {
    uint64_t id;              /* of the member that it belongs to */
    const char *directory;    /* for complaints, and the place of the files if `files` is NULL */
    struct cv_files *files;   /* the disk owns them from now on, even if it cannot be opened */
    uint32_t fresh;           /* the number of a directory that has none yet; 0: starts are not counted */
    bool threaded;            /* a thread does the work; otherwise disk_work does */
    void (*wake)(void *data); /* from the thread: there is something to take */
    void *wake_data;
};

/* A piece of work that is done. */
struct cv_disk_done {
    uint64_t ticket;
    void *tag; /* as submitted */
    int error; /* 0, or CV_EFILE: the disk's complaint says why */
};

/* How long it took until records were on disk. */
struct cv_disk_times {
    uint64_t count, total_us, slowest_us, last_us;
};

struct cv_disk;

/*
 * 0, CV_ENOMEM, CV_EFILE, or CV_EINPUT for a damaged journal; and a complaint that names the file. `found` is the state
 * in the journal, which the caller frees. Its id is 0 if the journal is new. If starts are counted, this one is counted
 * and on disk.
 */
int disk_open(struct cv_disk **disk, const struct cv_disk_options *options, struct cv_journal *found,
              struct cv_complaint *complaint);
/* Finishes all submitted work. */
void disk_close(struct cv_disk *disk);

/* Submits a record. Tickets count from 1. Takes the body's bytes. */
uint64_t disk_submit(struct cv_disk *disk, enum cv_record kind, struct cv_buffer *body, void *tag);
/* The next work that is done, in the order of submission. False if there is none. */
bool disk_take(struct cv_disk *disk, struct cv_disk_done *done);
struct cv_disk_times cv_disk_times(struct cv_disk *disk);
/* Without a thread: does the next piece of work. False if there is none. */
bool disk_work(struct cv_disk *disk);
/* What is wrong, after disk_take has returned an error. */
const char *disk_complaint(const struct cv_disk *disk);

#endif
