// SPDX-License-Identifier: MIT
/* Checks of each member by itself: its loop, its detector, its disk, its certificate, its clients. */
#include "cli/doctor/doctor_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB ((int64_t)1 << 20)
#define LEAST_FREE (64 * MIB)
#define SLOW_DISK_US 100000
#define DAY_S 86400

/* A node whose loop is late by half a lease loses the lease now and then. */
static void check_loops(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    int64_t worst_ms = 0;
    uint32_t late = 0;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t late_ms = doctor_number(it, "loop_late_ms", 0);
        const int64_t patience_ms = doctor_number(it, "lease_length_ms", doctor_number(it, "timeout", 300)) / 2;
        worst_ms = late_ms > worst_ms ? late_ms : worst_ms;
        late += late_ms > patience_ms;
        if (late_ms > patience_ms)
            doctor_find(report, "loop", DOCTOR_WARNING,
                        "give it more of a processor, or see what else stops it: swapping, a virtual machine that is "
                        "moved; otherwise a longer [group] lease and timeout",
                        "node %lld was stuck for %lld ms within the last minutes: it may lose its lease",
                        (long long)it->id, (long long)late_ms);
    }
    if (!late)
        doctor_find(report, "loop", DOCTOR_WELL, NULL, "at most %lld ms late within the last minutes",
                    (long long)worst_ms);
}

/* A detector learns from a few wrong suspicions. Many mean that its times do not fit. */
static void check_detectors(const struct doctor_group *group, const struct doctor_limits *limits,
                            struct doctor_report *report)
{
    uint32_t hasty = 0;
    int64_t all = 0;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t mistakes = doctor_number(it, "mistakes", 0), uptime_s = doctor_number(it, "uptime_in_seconds", 0);
        const bool often = mistakes >= 5 && mistakes * 600 > uptime_s;
        all += mistakes;
        hasty += often;
        if (often)
            doctor_find(report, "detector", DOCTOR_WARNING,
                        "look for a network or a machine that stalls; otherwise a longer [group] timeout",
                        "node %lld has suspected others by mistake %lld times in %lld min", (long long)it->id,
                        (long long)mistakes, (long long)(uptime_s / 60));
    }
    if (!hasty)
        doctor_find(report, "detector", DOCTOR_WELL, NULL, "%lld mistakes so far", (long long)all);
}

/* ---- disks ---- */

/* The directory was removed while the node runs. The node goes on until it must create a file. */
static bool directory_is_gone(const struct doctor_member *member, struct doctor_report *report)
{
    if (doctor_number(member, "disk_size", 1) > 0)
        return false;
    doctor_find(report, "disk", DOCTOR_PROBLEM,
                "what it has voted for is lost with it: end the node, and let it come back under another id",
                "node %lld cannot find its [node] directory any more", (long long)member->id);
    return true;
}

static bool disk_is_full(const struct doctor_member *member, struct doctor_report *report)
{
    const int64_t free_bytes = doctor_number(member, "disk_free", -1);
    if (free_bytes < 0 || free_bytes >= LEAST_FREE)
        return false;
    doctor_find(report, "disk", DOCTOR_PROBLEM,
                "make room where its [node] directory is; a node that cannot write ends",
                "node %lld has %lld MB left on its disk", (long long)member->id, (long long)(free_bytes / MIB));
    return true;
}

static bool disk_is_slow(const struct doctor_member *member, struct doctor_report *report)
{
    const int64_t last_us = doctor_number(member, "disk_last_us", -1);
    if (last_us < SLOW_DISK_US)
        return false;
    doctor_find(report, "disk", DOCTOR_WARNING,
                "put its [node] directory on a faster disk: views, not locks, wait for it",
                "node %lld took %lld ms for its last write", (long long)member->id, (long long)(last_us / 1000));
    return true;
}

static void check_disks(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    uint32_t wrong = 0;
    int64_t least = INT64_MAX;
    (void)limits;
    if (!group->raft)
        return;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t free_bytes = doctor_number(it, "disk_free", INT64_MAX);
        if (directory_is_gone(it, report)) {
            wrong++;
            continue;
        }
        wrong += disk_is_full(it, report);
        wrong += disk_is_slow(it, report);
        least = free_bytes < least ? free_bytes : least;
    }
    if (!wrong && least < INT64_MAX)
        doctor_find(report, "disk", DOCTOR_WELL, NULL, "at least %lld MB free, and quick enough",
                    (long long)(least / MIB));
}

static void check_tie_breaker(const struct doctor_group *group, const struct doctor_limits *limits,
                              struct doctor_report *report)
{
    uint32_t wrong = 0;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const struct cv_text state = doctor_fact(it, "tie_breaker_state"), path = doctor_fact(it, "tie_breaker");
        if (!state.length || cv_text_is(state, "ok"))
            continue;
        wrong++;
        doctor_find(
            report, "tie-breaker", DOCTOR_WARNING,
            "see on its machine what has become of the file or disk: a node that loses the other stops without it",
            "node %lld cannot use %.*s: %.*s", (long long)it->id, (int)path.length, path.start, (int)state.length,
            state.start);
    }
    if (group->tied && !wrong)
        doctor_find(report, "tie-breaker", DOCTOR_WELL, NULL, "all that answer can use it");
}

/* ---- keys and certificates ---- */

/* Lines `trouble_with_ID:why` of the peers' section. */
static uint32_t tls_troubles(const struct doctor_member *member, struct doctor_report *report)
{
    static const char mark[] = "trouble_with_";
    struct cv_text rest = doctor_section(member, "Peers"), line, peer, why;
    uint32_t count = 0;
    while (doctor_line(&rest, &line)) {
        if (line.length < sizeof mark || memcmp(line.start, mark, sizeof mark - 1) != 0 ||
            !cv_text_split(line, ':', &peer, &why))
            continue;
        count++;
        doctor_find(
            report, "tls", DOCTOR_PROBLEM,
            "compare their [security]: the same cluster key, or certificates of one CA for their hosts; then HUP",
            "node %lld and node %.*s do not trust each other: %.*s", (long long)member->id,
            (int)(peer.length - sizeof mark + 1), peer.start + sizeof mark - 1, (int)why.length, why.start);
    }
    return count;
}

static void check_tls(const struct doctor_group *group, const struct doctor_limits *limits,
                      struct doctor_report *report)
{
    uint32_t wrong = 0, secured = 0;
    int64_t first_days = INT64_MAX;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t end = doctor_number(it, "certificate_expires", 0);
        const int64_t days = (end - (int64_t)time(NULL)) / DAY_S;
        secured += cv_text_is(doctor_fact(it, "tls"), "yes");
        wrong += tls_troubles(it, report);
        if (!end)
            continue;
        first_days = days < first_days ? days : first_days;
        wrong += days < 30;
        if (days < 30)
            doctor_find(report, "tls", days < 7 ? DOCTOR_PROBLEM : DOCTOR_WARNING,
                        "put a new certificate in its place and send the node HUP; connections stay",
                        end < (int64_t)time(NULL) ? "node %lld's certificate has run out"
                                                  : "node %lld's certificate runs out in %lld days",
                        (long long)it->id, (long long)days);
    }
    if (wrong)
        return;
    if (first_days < INT64_MAX)
        doctor_find(report, "tls", DOCTOR_WELL, NULL, "certificates last for %lld days more", (long long)first_days);
    else
        doctor_find(report, "tls", DOCTOR_WELL, NULL,
                    secured ? "by the cluster's key" : "none: loopback, or asked for");
}

/* ---- clients ---- */

static void check_waiting(const struct doctor_group *group, const struct doctor_limits *limits,
                          struct doctor_report *report)
{
    uint32_t crowded = 0;
    int64_t waiting = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        waiting += doctor_number(it, "waiting", 0);
        crowded += it->crowd > (int64_t)limits->waiting;
        if (it->crowd > (int64_t)limits->waiting)
            doctor_find(report, "waiting", DOCTOR_WARNING,
                        "hold it more briefly, or split what it protects into several names",
                        "%lld clients of node %lld wait for %s", (long long)it->crowd, (long long)it->id, it->crowded);
    }
    if (!crowded)
        doctor_find(report, "waiting", DOCTOR_WELL, NULL, "%lld clients wait", (long long)waiting);
}

static void check_holds(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    uint32_t long_ones = 0;
    int64_t held = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        held += doctor_number(it, "held", 0);
        long_ones += it->longest_ms > (int64_t)limits->hold_ms;
        if (it->longest_ms > (int64_t)limits->hold_ms)
            doctor_find(report, "holds", DOCTOR_WARNING,
                        "see who holds it with `conclave status`; if its work is done, end that client",
                        "a client of node %lld has held %s for %lld s", (long long)it->id, it->longest,
                        (long long)(it->longest_ms / 1000));
    }
    if (!long_ones)
        doctor_find(report, "holds", DOCTOR_WELL, NULL, "%lld held, none for very long", (long long)held);
}

/* The doctor itself uses one of the reserved places. */
static void check_places(const struct doctor_group *group, const struct doctor_limits *limits,
                         struct doctor_report *report)
{
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t most = doctor_number(it, "maxclients", INT64_MAX);
        if (doctor_number(it, "connected_clients", 0) >= most)
            doctor_find(report, "clients", DOCTOR_WARNING,
                        "end clients that are not needed, or allow more: [node] clients",
                        "all %lld places for clients of node %lld are taken, %lld were turned away", (long long)most,
                        (long long)it->id, (long long)doctor_number(it, "rejected_connections", 0));
    }
}

doctor_check *const doctor_node_checks[] = {check_loops,       check_detectors, check_disks,
                                            check_tie_breaker, check_tls,       check_waiting,
                                            check_holds,       check_places,    NULL};
