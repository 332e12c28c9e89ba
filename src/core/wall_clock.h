// SPDX-License-Identifier: MIT
/* The time on the wall, for telling how long something takes: results never depend on it. */
#ifndef CONCLAVE_CORE_WALL_CLOCK_H
#define CONCLAVE_CORE_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Since some moment of the past; it never goes back. */
static inline double cv_wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline int64_t cv_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
