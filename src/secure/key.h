// SPDX-License-Identifier: MIT
/*
 * Keys of Conclave's own: 256 random bits for a cluster, and keys derived from them for its clients. A file has a line
 * per key:
 *
 *     conclave-key NAME ID SECRET        NAME is "cluster" or a client's; ID distinguishes a cluster's old and new key
 *
 * A node derives every client's key from the cluster's, so it stores none of them, and no client can find out
 * another's. Members also use a derived key, which no client has.
 */
#ifndef CONCLAVE_SECURE_KEY_H
#define CONCLAVE_SECURE_KEY_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"
#include "core/parse.h"

#define CV_KEY_BYTES 32u
#define CV_KEY_NAME_BYTES 64u
#define CV_KEY_ID_DIGITS 8u
#define CV_MOST_KEYS 4u /* in a file: the key in use, and older ones that it replaces */
#define CV_KEY_CLUSTER "cluster"

struct cv_key {
    char name[CV_KEY_NAME_BYTES + 1];
    char id[CV_KEY_ID_DIGITS + 1];
    unsigned char secret[CV_KEY_BYTES];
};

struct cv_keys {
    size_t count;
    struct cv_key list[CV_MOST_KEYS]; /* an end uses the first, and accepts all */
};

/* 1 to 64 letters, digits, and any of . _ - */
bool cv_key_name_good(struct cv_text name);

/* Makes a new key. CV_EFILE if there is no source of randomness. */
int cv_key_make(struct cv_key *key, const char *name);
/* Derives a client's key from the cluster's. False if OpenSSL is missing. */
bool cv_key_derive(const struct cv_key *cluster, struct cv_text name, struct cv_key *key);
/* Derives the key that members use among themselves. */
bool cv_key_of_members(const struct cv_key *cluster, struct cv_key *key);
/* Is that the key's secret? The comparison takes constant time. */
bool cv_key_is(const struct cv_key *key, struct cv_text secret);
/* Are these two secrets the same? The comparison takes constant time. */
bool cv_key_same(const unsigned char one[CV_KEY_BYTES], const unsigned char other[CV_KEY_BYTES]);
/* Overwrites a key in memory. */
void cv_key_wipe(void *key, size_t size);

/* From now on this process leaves no core dump, and only root can read its memory. Only our own programs call it: a
 * library must not decide that. */
void cv_key_forbid_dumps(void);

/* Complains of a file that other users can read. `what` is the option that named it. */
int cv_key_file_check(int fd, const char *what, const char *path, struct cv_complaint *complaint);
int cv_key_file_read(const char *what, const char *path, struct cv_keys *keys, struct cv_complaint *complaint);
/* Writes a new file that only its owner can read. */
int cv_key_file_write(const char *what, const char *path, const struct cv_key *key, struct cv_complaint *complaint);

#endif
