// SPDX-License-Identifier: MIT
/*
 * The numbers that a node shows of itself. They are gathered in one place and named in one table, which INFO and
 * /metrics both print, each in its own way.
 */
#ifndef CONCLAVE_SERVICE_NUMBERS_H
#define CONCLAVE_SERVICE_NUMBERS_H

#include <stdint.h>
#include <stdio.h>

#include "service/service.h"

/* In the units that INFO has. -1: there is none. */
struct cv_numbers {
    int64_t uptime_s, epoch, views, term, elections, started_ms, late_ms, stalls;
    int64_t members, view_members, suspected, coordinator, serves;
    int64_t clients, connections, commands, strangers, dropped_strangers, refused_clients, dropped_observers;
    int64_t rejected, most_clients, http_requests, dropped_unfinished, refused_output;
    int64_t observed, output_bytes, longest_turn_us;
    int64_t bytes_in, bytes_out, refused_peers, cut_off_peers, dropped_peers, disagreements;
    int64_t names, held, waiting, grants, releases, losses, sharing_notices;
    int64_t heartbeat_ms, suspicions, mistakes, mistaken_ms, outages;
    int64_t lease_ms, lease_length_ms, lapses, grace_ms, raft_leader, raft_term, raft_committed, raft_stored;
    int64_t tie_entry, tie_reached;
    int64_t disk_writes, disk_write_us, disk_slowest_us, disk_last_us, disk_free, disk_size;
    int64_t certificate_expires;
};

struct cv_number {
    const char *section, *key; /* of INFO; without a key it does not stand there */
    const char *metric;        /* of /metrics, or NULL; one that ends in _total is a counter */
    const char *help;
    uint32_t divisor; /* to the unit that Prometheus wants: seconds, bytes */
    size_t place;     /* in struct cv_numbers */
};

extern const struct cv_number cv_number_table[];
extern const size_t cv_number_count;

void cv_numbers_gather(const struct cv_service *service, struct cv_numbers *numbers);
int64_t cv_number_value(const struct cv_number *number, const struct cv_numbers *numbers);
/* Has the node anything to say there? Only some groups have a log, or a tie-breaker; only certificates run out. */
bool cv_number_applies(const struct cv_number *number, const struct cv_service *service);
/* key:value lines of a section. */
void cv_numbers_write(FILE *file, const struct cv_service *service, const struct cv_numbers *numbers,
                      const char *section);

/* Can this node grant something at this moment? If not, why not, in words. */
#define CV_HEALTH_BYTES 512u
bool cv_health(const struct cv_service *service, char why[CV_HEALTH_BYTES]);

/* ---- metrics.c ---- */

/* In the text format of Prometheus, version 0.0.4. */
void cv_metrics_write(FILE *file, const struct cv_service *service);

#endif
