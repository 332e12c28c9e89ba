// SPDX-License-Identifier: MIT
/*
 * A journal on disk, kept by a thread of its own, so that nothing waits for it. Records are written and synced in the
 * order in which they are submitted, and the submitter asks which are done. The first failure is the last thing that
 * happens: the state of a disk after an error is not known, so it is not used again.
 */
#ifndef CONCLAVE_GROUP_RAFT_DISK_H
#define CONCLAVE_GROUP_RAFT_DISK_H

#include "group/raft/files.h"
#include "group/raft/journal.h"

struct cv_disk_options {
    uint64_t id;              /* of the member that it belongs to */
    const char *directory;    /* for complaints, and where files are if `files` is NULL */
    struct cv_files *files;   /* the disk's from now on, also if it cannot be opened */
    uint32_t fresh;           /* the number of a directory that has none yet; 0: starts are not counted */
    bool threaded;            /* or else disk_work does the work */
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
 * 0, CV_ENOMEM, CV_EFILE or, for what cannot be trusted, CV_EINPUT; and a line that names the file. `found` is what the
 * journal says, the caller's to free; it is new if its id is 0. If starts are counted, this one is, and on disk.
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
/* After an error was taken: what is wrong. */
const char *disk_complaint(const struct cv_disk *disk);

#endif
