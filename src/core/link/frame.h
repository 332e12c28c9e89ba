// SPDX-License-Identifier: MIT
/*
 * The frames that members send each other, as bytes. Numbers are little-endian.
 *
 *     length 4 | type 1 | ...                 the length is that of what follows it
 *
 *     HELLO      magic 4, version 4, group 8, from 4, to 4, stream 8, heard 8, expects 8, hung 8,
 *                mode 1, refusal 1, founds 1, unused 1, directory 4, starts 4, members 8, stored 8,
 *                rules 8, only if that is not 0
 *     BEAT       expects 8, term 8, epoch 8, sent at 8, lease 4, drift 4
 *     GRANT      epoch 8, sent at 8, lease 4
 *     the rest   subject 1, kind 1, unused 1, name length 2, hops 2, fingerprint 4, words 4, sequence 8, round 8,
 *                clock 5, given 3, name, body
 *
 * A frame has a bounded length. It is complete, not all there yet, or broken; a node that sends a broken one is cut
 * off.
 */
#ifndef CONCLAVE_CORE_LINK_FRAME_H
#define CONCLAVE_CORE_LINK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parse.h"

#define CV_FRAME_BYTES 65536u /* of the longest frame, with its length */
#define CV_FRAME_NAME_BYTES 512u
/*
 * Members of one group speak one version. It rises with every change by which a member of the version before would
 * misunderstand another, or cut it off: another kind of notice, another field.
 */
#define CV_FRAME_VERSION 6u

enum cv_frame_type {
    CV_FRAME_HELLO = 1, /* the first on every connection, in both directions */
    CV_FRAME_BEAT,      /* a heartbeat, with the number of the next frame expected */
    CV_FRAME_MESSAGE,   /* an algorithm's message */
    CV_FRAME_OPEN,      /* a name is in use, and every member has to know of it */
    CV_FRAME_VIEW,      /* a step towards a new view; `kind` says which */
    CV_FRAME_NOTICE,    /* from one service to another; `kind` and the body are theirs */
    CV_FRAME_AGREEMENT, /* a message of Raft; `clock` is its length in bytes */
    CV_FRAME_GRANT,     /* the answer to a heartbeat: it extends the lease */
    CV_FRAME_TYPES
};

/* Frames from CV_FRAME_MESSAGE on, except grants, are numbered, and arrive once and in order. */
static inline bool cv_frame_numbered(uint32_t type)
{
    return type >= CV_FRAME_MESSAGE && type != CV_FRAME_GRANT;
}

struct cv_frame {
    uint32_t type; /* enum cv_frame_type */

    /* HELLO */
    uint32_t version;   /* of a greeting that is broken because it is of another version: which; else 0 */
    uint64_t group;     /* the group's identity; 0: the sender belongs to none yet */
    uint32_t from, to;  /* ids */
    uint64_t stream;    /* a new one after each time messages may have been lost; never 0 */
    uint64_t heard;     /* the last stream that the sender knows of the receiver, or 0 */
    uint64_t expects;   /* HELLO, BEAT: the next number of that stream */
    uint64_t hung;      /* microseconds that the sender stood still lately, so that it could not be heard */
    uint32_t mode;      /* how the sender's group makes its views */
    uint32_t refusal;   /* why the sender refuses the connection, or 0 */
    bool founds;        /* the sender may found a group without the missing members */
    uint32_t directory; /* a random number that the sender's directory has had since it was made; 0: it has none */
    uint32_t starts;    /* how often a node was started with that directory */
    uint64_t members;   /* a fingerprint of the members that the sender's configuration lists */
    uint64_t stored;    /* the last index of the log in that directory, at the start */
    uint64_t rules;     /* a fingerprint of the sender's rules for locks and elections; 0: it tells none */

    /*
     * BEAT, GRANT: `epoch` is the view that the sender of the heartbeat is in, and `sent_at` its time when it sent it.
     * It counts its lease by `lease_ms` and `drift_ppm`.
     */
    uint64_t term, epoch, sent_at;
    uint32_t lease_ms, drift_ppm;

    /* The rest */
    uint64_t sequence, round, clock;
    uint32_t given; /* MESSAGE: the highest place of the view's fences that the sender knows to be given */
    uint32_t subject, kind, hops, fingerprint;
    uint32_t words;      /* words of the body, 4 bytes each */
    struct cv_text name; /* points into the bytes that the frame was read from */
    const void *body;    /* the same; it is not aligned */
};

enum { CV_FRAME_MORE = 0, CV_FRAME_BROKEN = -1 };

/* The length of a frame in bytes. */
size_t cv_frame_size(const struct cv_frame *frame);
/* Writes a frame into that many bytes. */
void cv_frame_write(unsigned char *bytes, const struct cv_frame *frame);
/* Reads the first frame. Returns its length, CV_FRAME_MORE, or CV_FRAME_BROKEN and what is wrong. */
long cv_frame_read(const void *bytes, size_t length, struct cv_frame *frame, const char **wrong);

/* A word of the body. */
uint64_t cv_frame_number(const struct cv_frame *frame, uint32_t index);

#endif
