// SPDX-License-Identifier: MIT
/*
 * Small files that outlast the process, in a directory of their own: `recipes` in the node's directory. A file is
 * written beside the loop, as a whole or not at all: under another name, synced, renamed. Files that are wanted while
 * others are being written are written together. A disk that fails or is full ends the node.
 */
#ifndef CONCLAVE_LIVE_KEPT_FILES_H
#define CONCLAVE_LIVE_KEPT_FILES_H

#include <uv.h>

#include "core/error.h"
#include "core/parse.h"

#define CV_KEPT_FILE_NAME 32u /* bytes of a file's name: hexadecimal digits */

struct cv_member;
struct cv_kept_write;

struct cv_kept_files {
    struct cv_member *member;
    /* The file with that name is on disk, as the write with that number had it. */
    void (*written)(void *context, const char *name, uint64_t number);
    void *context;
    int directory;                               /* -1: nothing outlasts the process */
    struct cv_kept_write *wanted, **last_wanted; /* for the next turn of the thread */
    struct cv_kept_write *writing;               /* with the thread */
    uv_work_t work;
    int error;          /* an errno of the last turn */
    const char *failed; /* the file that it was about */
};

/* Opens the directory, or makes it. NULL instead of the node's directory: nothing is kept. */
int cv_kept_files_open(struct cv_kept_files *files, struct cv_member *member, const char *directory,
                       struct cv_complaint *complaint);
/* Reads every file. `take` is false, with a complaint, if it cannot be one of ours. */
int cv_kept_files_read(const struct cv_kept_files *files,
                       int (*take)(void *context, const char *name, struct cv_text bytes,
                                   struct cv_complaint *complaint),
                       void *context, struct cv_complaint *complaint);
/* Writes the file, or removes it if there are no bytes. `written` is told. False: no memory. */
bool cv_kept_files_write(struct cv_kept_files *files, const char *name, struct cv_text bytes, uint64_t number);
void cv_kept_files_close(struct cv_kept_files *files); /* after the loop */

#endif
