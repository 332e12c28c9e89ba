// SPDX-License-Identifier: MIT
/*
 * The file operations of a journal, in a directory that one process has to itself. They are a table of functions, so
 * that tests can use a disk that loses unsynced data.
 */
#ifndef CONCLAVE_GROUP_RAFT_FILES_H
#define CONCLAVE_GROUP_RAFT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Each returns 0 or an errno. `name` is a file of the directory. */
struct cv_files {
    /* Reads the whole file; the caller frees it. ENOENT if there is none. */
    int (*read)(struct cv_files *files, const char *name, unsigned char **bytes, size_t *length);
    /* Writes at `offset`, creating the file if need be. Nothing is safe before it is synced. */
    int (*write)(struct cv_files *files, const char *name, uint64_t offset, const void *bytes, size_t length);
    int (*cut)(struct cv_files *files, const char *name, uint64_t length);
    int (*sync)(struct cv_files *files, const char *name);
    /* Replaces `to`. Not safe before the directory is synced. */
    int (*rename)(struct cv_files *files, const char *from, const char *to);
    int (*sync_directory)(struct cv_files *files);
    void (*close)(struct cv_files *files);
};

/* Makes the directory if its parent exists, and locks it. 0, CV_ENOMEM, or CV_EFILE and a complaint; CV_EINPUT if
 * others can write there. Links in it are not followed. */
int files_open(struct cv_files **files, const char *directory, struct cv_complaint *complaint);

#endif
