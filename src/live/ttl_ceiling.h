// SPDX-License-Identifier: MIT
/*
 * The longest time to live that this node has promised, or has known as promised. The node keeps it on disk: if a
 * majority restarts and forgets its promises, the group knows how long to wait for clients that have one. The node
 * rounds it up (1, 2, 5, 10, 20, ... seconds), so that it writes it only a few times in its life, and always before the
 * first promise above it. Two nodes with a tie-breaker keep it in their blocks of the file: each must know what the
 * other has promised alone.
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
    uint64_t ms;         /* the ceiling on disk */
    uint64_t other_ms;   /* the other node's ceiling in a tie-breaker's file */
    uint64_t wanted_ms;  /* the ceiling must be at least this high */
    uint64_t writing_ms; /* the ceiling that is being written, while `writing` */
    uint64_t high_us;    /* when the last promise above the next lower step was made */
    bool writing;
    int error; /* an errno of the last write */
    uv_work_t work;
};

int ttl_ceiling_open(struct ttl_ceiling *ceiling, struct cv_member *member, const char *directory,
                     struct cv_complaint *complaint);
void ttl_ceiling_close(struct ttl_ceiling *ceiling); /* after the loop */

/* May this node make or confirm a promise of that length? If not, the member's `covered` tells when. */
bool cv_ttl_ceiling_covers(struct ttl_ceiling *ceiling, uint64_t ttl_ms);
/* `longest_ms` is the longest of all present promises. The ceiling may fall to it. */
void ttl_ceiling_settle(struct ttl_ceiling *ceiling, uint64_t longest_ms);

/* A tie-breaker's file now has these ceilings of this node and of the other. */
void ttl_ceiling_found(struct ttl_ceiling *ceiling, uint64_t own_ms, uint64_t other_ms);

static inline uint64_t ttl_ceiling_found_ms(const struct ttl_ceiling *ceiling)
{
    return ceiling->ms > ceiling->other_ms ? ceiling->ms : ceiling->other_ms;
}

#endif
