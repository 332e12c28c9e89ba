// SPDX-License-Identifier: MIT
/*
 * RESP, the protocol of Redis, versions 2 and 3: bytes into words, without I/O. resp_write.h is the other half.
 *
 *     *2\r\n$4\r\nPING\r\n$2\r\nhi\r\n    a command: an array of bulk strings
 *     PING hi\r\n                         the same, typed by hand
 *     +OK  -ERR why  :7  $2\r\nhi         replies: a status, an error, an integer, a bulk string;
 *     _  #t  *2 ...  %1 ...  >3 ...       nil, truth, an array, a map, a push (arrays in both versions, the rest in 3)
 *
 * The readers keep nothing of their own: they look at what has arrived so far and say how much of it they took, or that
 * it is not all there yet. A command is bounded, so a connection needs one buffer of CV_RESP_COMMAND_BYTES, and looking
 * again after every byte costs a step per word, not per byte.
 */
#ifndef CONCLAVE_RESP_RESP_READ_H
#define CONCLAVE_RESP_RESP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parse.h"

#define CV_RESP_WORDS 32u                /* of a command, at most */
#define CV_RESP_COMMAND_BYTES 16384u     /* of a command as it is sent, at most */
#define CV_RESP_ITEMS ((int64_t)1 << 24) /* of an array or a map in a reply, at most */

/* What the readers return besides the number of bytes they took. */
enum { CV_RESP_MORE = 0, CV_RESP_BROKEN = -1 };

/* ---- commands: the server's side ---- */

struct cv_resp_command {
    uint32_t count;                     /* 0 for an empty line or array, which asks for nothing */
    struct cv_text word[CV_RESP_WORDS]; /* in the bytes they were read from */
    const char *wrong;                  /* after CV_RESP_BROKEN: what to tell the client before closing */
    bool by_hand;                       /* a line of words, and no array: other protocols have such lines, too */
};

/* Reads the first command. Returns its length in bytes, CV_RESP_MORE or CV_RESP_BROKEN. */
long cv_resp_read_command(const char *bytes, size_t length, struct cv_resp_command *command);

/* Is it the first line of an HTTP request, or its Host? A browser can be made to send one to any port. */
bool cv_resp_is_http(const struct cv_resp_command *command);

/* Is that the word, in capitals or not? */
bool cv_resp_is(struct cv_text word, const char *name);

/* ---- replies: the client's side ---- */

/* Kinds of items are the bytes they begin with. RESP2's null bulk string and null array are read as CV_RESP_NIL. */
enum cv_resp_kind {
    CV_RESP_STATUS = '+',
    CV_RESP_ERROR = '-',
    CV_RESP_INTEGER = ':',
    CV_RESP_BULK = '$',
    CV_RESP_NIL = '_',
    CV_RESP_TRUTH = '#',
    CV_RESP_DOUBLE = ',',
    CV_RESP_ARRAY = '*',
    CV_RESP_MAP = '%',
    CV_RESP_SET = '~',
    CV_RESP_PUSH = '>',
};

struct cv_resp_item {
    enum cv_resp_kind kind;
    int64_t number; /* an integer or a truth; of arrays, sets and pushes the items that follow, of maps the pairs */
    struct cv_text text; /* of a status, an error, a bulk string; a double as it was written */
};

/* Reads one item; an array's own items follow it. Returns its length in bytes, CV_RESP_MORE or CV_RESP_BROKEN. */
long cv_resp_read_item(const char *bytes, size_t length, struct cv_resp_item *item);

/* How far a reply has been scanned, so that a long one is scanned once. Zero before each reply. */
struct cv_resp_scan {
    size_t at;
    uint64_t missing; /* items that have yet to come */
};

/* Is the whole of the first reply there? Returns its length in bytes, CV_RESP_MORE or CV_RESP_BROKEN. */
long cv_resp_scan(struct cv_resp_scan *scan, const char *bytes, size_t length);

/* Takes the next item of a reply that is all there. False at its end. */
bool cv_resp_next(struct cv_text *reply, struct cv_resp_item *item);
/* Skips one item and all that belongs to it. False at the end. */
bool cv_resp_skip(struct cv_text *reply);

#endif
