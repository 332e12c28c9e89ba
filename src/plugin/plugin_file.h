// SPDX-License-Identifier: MIT
/*
 * The file of a plugin, for a process that serves others. A user who can change the file, or put another in its place,
 * could run code in that process. So the file and every directory on the way to it must belong to root or to the user
 * of the process, and nobody else may write to them. The rules are those of sshd(8) for a user's keys, except that a
 * directory with the sticky bit, such as /tmp, may be writable by all: others cannot replace a file there.
 */
#ifndef CONCLAVE_PLUGIN_PLUGIN_FILE_H
#define CONCLAVE_PLUGIN_PLUGIN_FILE_H

#include <stdbool.h>

#include "core/error.h"
#include "secure/digest.h"

/* False if the file ends before what it says it has: the loader would crash. Whatever else it is, the loader tells. */
bool plugin_file_is_whole(int file);

/*
 * Copies a file that can be trusted into memory, and returns a descriptor of the copy; or CV_EINPUT with a complaint.
 * The copy is what the digest is of, and it stays as it is whatever happens to the file.
 */
int plugin_file_copy(const char *path, int *copy, struct cv_digest *digest, struct cv_complaint *complaint);

#endif
