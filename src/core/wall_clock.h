// SPDX-License-Identifier: MIT
/* The machine's clocks. Results of simulated runs never depend on them. */
#ifndef CONCLAVE_CORE_WALL_CLOCK_H
#define CONCLAVE_CORE_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cv_clock_us(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A clock that never goes back, to measure how long something takes. */
static inline uint64_t cv_wall_us(void)
{
    return cv_clock_us(CLOCK_MONOTONIC);
}

static inline int64_t cv_wall_ms(void)
{
    return (int64_t)(cv_wall_us() / 1000);
}

static inline double cv_wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The same, but this clock goes on while the machine sleeps, as other machines' clocks do. For leases. */
static inline uint64_t cv_boot_us(void)
{
    return cv_clock_us(CLOCK_BOOTTIME);
}

static inline int64_t cv_boot_ms(void)
{
    return (int64_t)(cv_boot_us() / 1000);
}

/* The time of day, which an operator may set back: milliseconds since 1970. */
static inline int64_t cv_unix_ms(void)
{
    return (int64_t)(cv_clock_us(CLOCK_REALTIME) / 1000);
}

#endif
