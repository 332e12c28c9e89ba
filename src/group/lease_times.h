// SPDX-License-Identifier: MIT
/*
 * Every time that follows from the length of a lease, L. Safety rests on none of them: group/lease.h alone decides when
 * a lease is over. They only see to it that a member renews its lease in time, and soon notices a lost one.
 *
 *     L / 40   the tick of the tie-breaker's file
 *     L / 40   the log's tick: four per heartbeat of the log, which is L / 10
 *     L / 8    the margin before a lease ends; the interval between requests for the file's vote
 *     L / 3    the longest interval between heartbeats
 *     L / 2    the log's election timeout; in a group of two, the silence after which a member asks the file
 *     L        the interval between reads of the file, and the time it has to answer; a lost lease may return so long
 *     4 L      the time that a leader waits for reports on a view
 */
#ifndef CONCLAVE_GROUP_LEASE_TIMES_H
#define CONCLAVE_GROUP_LEASE_TIMES_H

#include <stdint.h>

#define CV_LEASE_DEFAULT_MS 300u
#define CV_LEASE_LEAST_MS 20u
#define CV_DRIFT_DEFAULT_PPM 10000u
#define CV_DRIFT_LARGEST_PPM 200000u

/* ---- the member's lease ---- */

/* Heartbeats renew a lease. At least so many fit into it. */
#define CV_LEASE_HEARTBEATS 3u

/* A member stops granting so long before its lease ends, because a grant must reach its client before the end. */
static inline uint64_t cv_lease_margin_us(uint64_t length_us)
{
    return length_us / 8;
}

/* A wider margin counts once a lease lasts so long. The rest of a shorter lease may be less than the margin. */
static inline uint64_t cv_lease_wide_enough_us(uint64_t margin_us)
{
    return 4 * margin_us;
}

/* The leader waits so long for reports on a view, and for members to begin it. */
static inline uint64_t cv_lease_report_us(uint64_t length_us)
{
    return 4 * length_us;
}

/* ---- the log ---- */

#define CV_LEAST_ELECTION_MS 20u

/* The election timeout, at least: half a lease, so that a new leader leads before the group loses its leases. */
static inline uint32_t cv_lease_election_ms(uint32_t length_ms)
{
    return length_ms / 2 > CV_LEAST_ELECTION_MS ? length_ms / 2 : CV_LEAST_ELECTION_MS;
}

/* The leader sends five heartbeats per election timeout. */
static inline uint32_t cv_lease_log_heartbeat_ms(uint32_t length_ms)
{
    return cv_lease_election_ms(length_ms) / 5;
}

/* The log's tick runs four times per heartbeat. */
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

/* A member that does not rely on the file's vote reads the file so often. A file that takes longer is in trouble. */
static inline uint64_t cv_lease_file_look_us(uint64_t length_us)
{
    return length_us;
}

/* A member asks the file when the other node has granted nothing for so long. */
static inline uint64_t cv_lease_silent_us(uint64_t length_us)
{
    return length_us / 2;
}

#endif
