// SPDX-License-Identifier: MIT
/*
 * Both directions of the traffic between two members, over one connection after the other. Numbered frames arrive once
 * and in order, as long as neither end begins a new stream. Without I/O.
 *
 * Frames that are not acknowledged yet stay in the log. A new connection goes on where the other end says that it is:
 *
 *     start            sent             end
 *     --+----------------+----------------+--
 *       | on its way     | not yet sent   |
 */
#ifndef CONCLAVE_CORE_LINK_LINK_H
#define CONCLAVE_CORE_LINK_LINK_H

#include "core/link/frame.h"

#define CV_LINK_BYTES ((size_t)64 << 20) /* the largest log for a peer */

struct cv_link {
    unsigned char *log;
    size_t start, sent, end, room;
    uint64_t stream;  /* the number of our stream */
    uint64_t oldest;  /* the number of the frame at `start` */
    uint64_t next;    /* the number of the next frame written */
    uint64_t heard;   /* the stream we hear, or 0 */
    uint64_t expects; /* the number we expect next on it */
    bool spoken;      /* a frame of our stream has been sent */
};

/* Begins a new stream without frames. The other end's stream goes on. */
void cv_link_begin(struct cv_link *link, uint64_t stream);
void cv_link_free(struct cv_link *link);

/* Numbers the frame and keeps it. CV_ENOMEM if the log is full: then only a new stream helps. */
int cv_link_write(struct cv_link *link, struct cv_frame *frame);

/* The bytes to send now: whole frames of at most that many bytes, or one longer frame. */
struct cv_text cv_link_unsent(const struct cv_link *link, size_t most);
void cv_link_sent(struct cv_link *link, size_t bytes);

/* The other end has all our frames before that number. */
void cv_link_acknowledged(struct cv_link *link, uint64_t expects);

/* Does the other end's greeting show that it does not know this stream? Then only a new one helps. */
bool cv_link_forgotten(const struct cv_link *link, const struct cv_frame *hello);

/* Is the greeting older than an acknowledgement that has arrived since? */
bool cv_link_outdated(const struct cv_link *link, const struct cv_frame *hello);

/*
 * A connection is made, and this is the other end's greeting. True if it begins a stream that is new to us: frames of
 * the former stream may be lost.
 */
bool cv_link_greeted(struct cv_link *link, const struct cv_frame *hello);

/* Is a numbered frame that has arrived the next one? False if it is known already, or if frames are missing (`gap`). */
bool cv_link_take(struct cv_link *link, uint64_t sequence, bool *gap);

#endif
