// SPDX-License-Identifier: MIT
/*
 * The numbers that a node shows of itself. They are gathered in one place and named in one table, which INFO and
 * /metrics both print, each in its own way.
 */
#ifndef CONCLAVE_SERVICE_NUMBERS_H
#define CONCLAVE_SERVICE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cv_service;

/* In the units that INFO has. -1: there is none. */
struct numbers {
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

struct number {
    const char *section; /* of INFO */
    const char *key;     /* of INFO; NULL: INFO does not show it */
    const char *metric;  /* of /metrics; NULL: /metrics does not show it. One that ends in _total is a counter */
    const char *help;
    uint32_t divisor; /* to the unit that Prometheus wants: seconds, bytes */
    size_t place;     /* in struct numbers */
};

extern const struct number number_table[];
extern const size_t number_count;

void numbers_gather(const struct cv_service *service, struct numbers *numbers);
int64_t number_value(const struct number *number, const struct numbers *numbers);
/* Has the node such a number? Only some groups have a log, or a tie-breaker; only certificates expire. */
bool number_applies(const struct number *number, const struct cv_service *service);
/* key:value lines of a section. */
void numbers_write(FILE *file, const struct cv_service *service, const struct numbers *numbers, const char *section);

#endif
