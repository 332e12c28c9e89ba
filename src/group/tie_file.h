// SPDX-License-Identifier: MIT
/*
 * The file or disk that breaks a tie, as far as it is read and written: by a thread of its own, so that nobody waits
 * for a file server that has gone away. It is opened anew each time: what a network's file system has cached does not
 * count.
 */
#ifndef CONCLAVE_GROUP_TIE_FILE_H
#define CONCLAVE_GROUP_TIE_FILE_H

#include "group/tie.h"

struct cv_tie_file;

struct cv_tie_answer {
    char trouble[160]; /* why there is none; empty if there is */
    unsigned char records[CV_TIE_MEMBERS][CV_TIE_RECORD_BYTES];
};

/* `wake` is called from another thread when something is done. NULL if there is no memory, or no thread. */
struct cv_tie_file *cv_tie_file_open(const char *path, cv_node member, void (*wake)(void *data), void *data);
/* Does not wait, nor wake anybody any more. */
void cv_tie_file_close(struct cv_tie_file *file);

/* Writes this member's record, unless it is NULL, and then reads both. One at a time. */
void cv_tie_file_start(struct cv_tie_file *file, const unsigned char *record);
/* True, once, when that is done. */
bool cv_tie_file_done(struct cv_tie_file *file, struct cv_tie_answer *answer);

#endif
