// SPDX-License-Identifier: MIT
/*
 * Every time that follows from the length of a lease, L. Safety rests on none of them: group/lease.h alone decides when
 * a lease is over. They make sure that a lease is renewed in time, and that a lost one is noticed soon.
 *
 *     L / 40   the tie-breaker's file is looked after
 *     L / 40   the log is called: four times per heartbeat of its own, which is L / 10
 *     L / 8    the margin; the file's vote is asked for again
 *     L / 3    heartbeats are at most that far apart
 *     L / 2    the log elects a new leader; the other of two is taken for silent
 *     L        the file is read, and answers; a lease that is lost may come back until then
 *     4 L      reports on a view are waited for
 */
#ifndef CONCLAVE_GROUP_LEASE_TIMES_H
#define CONCLAVE_GROUP_LEASE_TIMES_H

#include <stdint.h>

#define CV_LEASE_DEFAULT_MS 300u
#define CV_LEASE_LEAST_MS 20u
#define CV_DRIFT_DEFAULT_PPM 10000u
#define CV_DRIFT_LARGEST_PPM 200000u

/* ---- the member's lease ---- */

/* A lease is renewed by heartbeats: so many fit into it at least. */
#define CV_LEASE_HEARTBEATS 3u

/* A member stops granting so long before its lease ends: a grant must reach its client before that. */
static inline uint64_t cv_lease_margin_us(uint64_t length_us)
{
    return length_us / 8;
}

/* A wider margin counts once a lease lasts so long: what is left of a shorter one may be less than the margin. */
static inline uint64_t cv_lease_wide_enough_us(uint64_t margin_us)
{
    return 4 * margin_us;
}

/* Reports on a view, and members that have yet to begin it, are waited for so long. */
static inline uint64_t cv_lease_report_us(uint64_t length_us)
{
    return 4 * length_us;
}

/* ---- the log ---- */

#define CV_LEAST_ELECTION_MS 20u

/* It waits for its leader so long at least: half a lease, so that another leads before the group loses its leases. */
static inline uint32_t cv_lease_election_ms(uint32_t length_ms)
{
    return length_ms / 2 > CV_LEAST_ELECTION_MS ? length_ms / 2 : CV_LEAST_ELECTION_MS;
}

/* Its leader speaks five times in that. */
static inline uint32_t cv_lease_log_heartbeat_ms(uint32_t length_ms)
{
    return cv_lease_election_ms(length_ms) / 5;
}

/* It is called four times per heartbeat. */
static inline uint64_t cv_lease_log_tick_us(uint32_t length_ms)
{
    return (uint64_t)cv_lease_log_heartbeat_ms(length_ms) * 1000 / 4;
}

/* A leader that leaves waits so long for another to lead. */
static inline uint64_t cv_lease_hand_over_us(uint64_t length_us)
{
    return length_us / 2;
}

/* ---- the tie-breaker's file ---- */

static inline uint64_t cv_lease_file_tick_us(uint64_t length_us)
{
    return length_us / 40;
}

/* A member that relies on the file's vote asks for it again after so long. */
static inline uint64_t cv_lease_file_renew_us(uint64_t length_us)
{
    return length_us / 8;
}

/* A member that does not rely on it reads the file so often. A file that does not answer in that time is in trouble. */
static inline uint64_t cv_lease_file_look_us(uint64_t length_us)
{
    return length_us;
}

/* The other node has granted nothing for so long: the file is asked. */
static inline uint64_t cv_lease_silent_us(uint64_t length_us)
{
    return length_us / 2;
}

#endif
