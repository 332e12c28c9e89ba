// SPDX-License-Identifier: MIT
/*
 * The longest time to live that this node has promised, or known to be promised. It is kept on disk: if a majority is
 * restarted and forgets its promises, the group knows how long to wait for the clients that have one. It is rounded up
 * (1, 2, 5, 10, 20, ... seconds), so that it is written only a few times in a node's life, and always before the first
 * promise above it. Two nodes with a tie-breaker keep it in their blocks of the file: each must know what the other has
 * promised alone.
 */
#ifndef CONCLAVE_LIVE_TTL_CEILING_H
#define CONCLAVE_LIVE_TTL_CEILING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/error.h"

struct cv_member;

struct ttl_ceiling {
    struct cv_member *member;
    char *directory;     /* NULL: nothing outlasts the process, but for what a tie-breaker's file holds */
    uint64_t ms;         /* on disk */
    uint64_t other_ms;   /* the other node's, in a tie-breaker's file */
    uint64_t wanted_ms;  /* at least this has to be */
    uint64_t writing_ms; /* what is being written, while `writing` */
    uint64_t high_us;    /* when the last promise above the next lower step was made */
    bool writing;
    int error; /* an errno of the last write */
    uv_work_t work;
};

int ttl_ceiling_open(struct ttl_ceiling *ceiling, struct cv_member *member, const char *directory,
                     struct cv_complaint *complaint);
void ttl_ceiling_close(struct ttl_ceiling *ceiling); /* after the loop */

/* May a promise of that length be made, or be confirmed to another? If not, the member's `covered` tells when. */
bool cv_ttl_ceiling_covers(struct ttl_ceiling *ceiling, uint64_t ttl_ms);
/* These are all promises there are, the longest of them; the ceiling may come down to it. */
void ttl_ceiling_settle(struct ttl_ceiling *ceiling, uint64_t longest_ms);

/* That is what a tie-breaker's file says now, of this node and of the other. */
void ttl_ceiling_found(struct ttl_ceiling *ceiling, uint64_t own_ms, uint64_t other_ms);

static inline uint64_t ttl_ceiling_found_ms(const struct ttl_ceiling *ceiling)
{
    return ceiling->ms > ceiling->other_ms ? ceiling->ms : ceiling->other_ms;
}

#endif
