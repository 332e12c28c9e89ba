// SPDX-License-Identifier: MIT
/*
 * What members send each other, as bytes. Numbers are little-endian.
 *
 *     length 4 | type 1 | ...                 the length is that of what follows it
 *
 *     HELLO      magic 4, version 4, group 8, from 4, to 4, stream 8, heard 8, expects 8, hung 8,
 *                mode 1, refusal 1, founds 1, unused 1, directory 4, starts 4, members 8, stored 8
 *     BEAT       expects 8, term 8, epoch 8, sent at 8, lease 4, drift 4
 *     GRANT      epoch 8, sent at 8, lease 4
 *     the rest   subject 1, kind 1, unused 1, name length 2, hops 2, fingerprint 4, words 4, sequence 8, round 8,
 *                clock 8, name, body
 *
 * A frame is bounded, complete or not yet there, or broken; a node that sends a broken one is cut off.
 */
#ifndef CONCLAVE_CORE_LINK_FRAME_H
#define CONCLAVE_CORE_LINK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parse.h"

#define CV_FRAME_BYTES 65536u /* at most, the length included */
#define CV_FRAME_NAME_BYTES 512u
#define CV_FRAME_VERSION 4u

enum cv_frame_type {
    CV_FRAME_HELLO = 1, /* the first on every connection, in both directions */
    CV_FRAME_BEAT,      /* I am alive; and which of your frames I expect next */
    CV_FRAME_MESSAGE,   /* an algorithm's message */
    CV_FRAME_OPEN,      /* a name is in use that everybody has to know of */
    CV_FRAME_VIEW,      /* a new view is being made; `kind` says how far it is */
    CV_FRAME_NOTICE,    /* what one service tells another; `kind` and the body are theirs */
    CV_FRAME_AGREEMENT, /* Raft's own; `clock` bytes of the body */
    CV_FRAME_GRANT,     /* the answer to a heartbeat: so much longer the view is yours */
    CV_FRAME_TYPES
};

/* Frames from CV_FRAME_MESSAGE on, but for grants, are numbered, and arrive once and in order. */
static inline bool cv_frame_numbered(uint32_t type)
{
    return type >= CV_FRAME_MESSAGE && type != CV_FRAME_GRANT;
}

struct cv_frame {
    uint32_t type; /* enum cv_frame_type */

    /* HELLO */
    uint64_t group;     /* the group's identity; 0: the sender belongs to none yet */
    uint32_t from, to;  /* ids */
    uint64_t stream;    /* a new one after each time messages may have been lost; never 0 */
    uint64_t heard;     /* the last stream that the sender knows of the receiver, or 0 */
    uint64_t expects;   /* HELLO, BEAT: the next number of that stream */
    uint64_t hung;      /* microseconds that the sender itself stood still of late, and could not be heard */
    uint32_t mode;      /* how the sender's group makes its views */
    uint32_t refusal;   /* why the receiver is not spoken with, or 0 */
    bool founds;        /* the sender may found a group without the missing members */
    uint32_t directory; /* a random number that the sender's directory has had since it was made; 0: it has none */
    uint32_t starts;    /* how often a node was started with that directory */
    uint64_t members;   /* a fingerprint of those that the sender's configuration lists */
    uint64_t stored;    /* the last index of the log in that directory, at the start */

    /*
     * BEAT, GRANT: `epoch` is the view that the sender of the heartbeat is in, `sent_at` its time when it sent it, and
     * `lease_ms` with `drift_ppm` what it counts its lease by.
     */
    uint64_t term, epoch, sent_at;
    uint32_t lease_ms, drift_ppm;

    /* The rest */
    uint64_t sequence, round, clock;
    uint32_t subject, kind, hops, fingerprint;
    uint32_t words;      /* of the body, 4 bytes each */
    struct cv_text name; /* in the bytes it was read from */
    const void *body;    /* the same; not aligned */
};

enum { CV_FRAME_MORE = 0, CV_FRAME_BROKEN = -1 };

/* The bytes a frame takes. */
size_t cv_frame_size(const struct cv_frame *frame);
/* Writes it into so many bytes. */
void cv_frame_write(unsigned char *bytes, const struct cv_frame *frame);
/* Reads the first frame: its length, CV_FRAME_MORE or CV_FRAME_BROKEN and what is wrong. */
long cv_frame_read(const void *bytes, size_t length, struct cv_frame *frame, const char **wrong);

/* A word of the body. */
uint64_t cv_frame_number(const struct cv_frame *frame, uint32_t index);

#endif
