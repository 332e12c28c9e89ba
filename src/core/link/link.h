// SPDX-License-Identifier: MIT
/*
 * One direction and the other of what two members say to each other, over one connection after the other: numbered
 * frames arrive once and in order, as long as neither end begins a new stream. Without I/O.
 *
 * What is not yet acknowledged stays in the log; a new connection goes on where the other end says it is:
 *
 *     start            sent             end
 *     --+----------------+----------------+--
 *       | on its way     | not yet sent   |
 */
#ifndef CONCLAVE_CORE_LINK_LINK_H
#define CONCLAVE_CORE_LINK_LINK_H

#include "core/link/frame.h"

#define CV_LINK_BYTES ((size_t)64 << 20) /* kept for a peer, at most */

struct cv_link {
    unsigned char *log;
    size_t start, sent, end, room;
    uint64_t stream;  /* ours */
    uint64_t oldest;  /* the number of the frame at `start` */
    uint64_t next;    /* the number of the next frame written */
    uint64_t heard;   /* the stream we hear, or 0 */
    uint64_t expects; /* the number we expect next on it */
    bool spoken;      /* something of our stream has left */
};

/* A new stream, and nothing said yet. What the other end says goes on as it was. */
void cv_link_begin(struct cv_link *link, uint64_t stream);
void cv_link_free(struct cv_link *link);

/* Numbers the frame and keeps it. CV_ENOMEM if too much is kept already: then only a new stream helps. */
int cv_link_write(struct cv_link *link, struct cv_frame *frame);

/* What is to be sent now, in whole frames and at most so many bytes, or one frame. */
struct cv_text cv_link_unsent(const struct cv_link *link, size_t most);
void cv_link_sent(struct cv_link *link, size_t bytes);

/* The other end has everything before that number of ours. */
void cv_link_acknowledged(struct cv_link *link, uint64_t expects);

/* Does the other end, by its greeting, not know what has been said on this stream? Then only a new one helps. */
bool cv_link_forgotten(const struct cv_link *link, const struct cv_frame *hello);

/* Was this greeting said before the other end acknowledged what it has acknowledged since? */
bool cv_link_outdated(const struct cv_link *link, const struct cv_frame *hello);

/*
 * A connection is made, and this is the other end's greeting. True if it begins a stream we have not heard before: what
 * was said before on another may be lost.
 */
bool cv_link_greeted(struct cv_link *link, const struct cv_frame *hello);

/* Is a numbered frame that has arrived the next one? Not if it is known already; `gap` if it cannot be. */
bool cv_link_take(struct cv_link *link, uint64_t sequence, bool *gap);

#endif
