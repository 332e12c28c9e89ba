// SPDX-License-Identifier: MIT
#include "service/http/metrics.h"

#include <stdio.h>
#include <string.h>

#include "service/numbers.h"
#include "service/service.h"

typedef unsigned long long number; /* as printf wants it */

static void write_head(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and line feed are escaped. */
static void write_label(FILE *file, const char *name, const char *value)
{
    fprintf(file, "%s=\"", name);
    for (; *value; value++)
        if (*value == '\n')
            fputs("\\n", file);
        else
            fprintf(file, "%s%c", *value == '\\' || *value == '"' ? "\\" : "", *value);
    putc('"', file);
}

static bool is_counter(const char *metric)
{
    const size_t length = strlen(metric);
    return length > 6 && strcmp(metric + length - 6, "_total") == 0;
}

static void write_table(FILE *file, const struct cv_service *service)
{
    struct numbers numbers;
    numbers_gather(service, &numbers);
    for (size_t i = 0; i < number_count; i++) {
        const struct number *it = &number_table[i];
        const int64_t value = number_value(it, &numbers);
        if (!it->metric || !number_applies(it, service))
            continue;
        write_head(file, it->metric, is_counter(it->metric) ? "counter" : "gauge", it->help);
        if (it->divisor == 1)
            fprintf(file, "%s %lld\n", it->metric, (long long)value);
        else
            fprintf(file, "%s %.6f\n", it->metric, (double)value / it->divisor);
    }
}

static void write_build(FILE *file, const struct cv_service *service)
{
    const struct cv_member *member = service->member;
    write_head(file, "conclave_build_info", "gauge", "What runs here; always 1.");
    fprintf(file, "conclave_build_info{version=\"%s\",node=\"%u\",mode=\"%s\"} 1\n", CONCLAVE_VERSION,
            member->roster.ids[member->roster.me], cv_member_mode(member));
}

/* ---- peers ---- */

static double suspected(const struct cv_peer *peer)
{
    return peer->suspected;
}

static double unheard_seconds(const struct cv_peer *peer)
{
    return peer->detector.last_us ? (double)(cv_loop_now() - peer->detector.last_us) / 1e6 : -1;
}

static double suspicions(const struct cv_peer *peer)
{
    return (double)peer->detector.suspicions;
}

static double mistakes(const struct cv_peer *peer)
{
    return (double)peer->detector.mistakes;
}

static double moves(const struct cv_peer *peer)
{
    return (double)peer->moves;
}

static void write_peers(FILE *file, const struct cv_service *service)
{
    static const struct {
        const char *metric, *help;
        double (*value)(const struct cv_peer *peer);
    } rows[] = {
        {"conclave_peer_suspected", "1 if this node suspects that member.", suspected},
        {"conclave_peer_unheard_seconds", "Time since it was heard of, -1 if it never was.", unheard_seconds},
        {"conclave_peer_suspicions_total", "Times it was suspected.", suspicions},
        {"conclave_peer_mistakes_total", "Of those, by mistake: it was alive.", mistakes},
        {"conclave_peer_moves_total", "Times traffic with it has moved to another network.", moves},
    };
    const struct cv_peers *peers = &service->member->peers;
    const struct cv_roster *roster = &service->member->roster;
    for (size_t i = 0; peers->list && i < sizeof rows / sizeof *rows; i++) {
        write_head(file, rows[i].metric, is_counter(rows[i].metric) ? "counter" : "gauge", rows[i].help);
        for (cv_node node = 0; node < roster->count; node++)
            if (peers->list[node])
                fprintf(file, "%s{peer=\"%u\"} %.15g\n", rows[i].metric, roster->ids[node],
                        rows[i].value(peers->list[node]));
    }
}

/* ---- messages, as the texts count them: none to oneself ---- */

static void write_messages(FILE *file, const struct cv_algorithm_host *host, const char *metric, const char *help,
                           bool sent)
{
    write_head(file, metric, "counter", help);
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_algorithm *algorithm = host->policies[i].algorithm;
        for (uint32_t kind = 0; kind < host->policies[i].kinds; kind++) {
            fprintf(file, "%s{", metric);
            write_label(file, "names", i ? host->policies[i].pattern : "");
            write_label(file, ",algorithm", algorithm->name);
            write_label(file, ",kind", algorithm->kinds[kind].name);
            fprintf(file, "} %llu\n", (number)(sent ? host->counts[i].sent[kind] : host->counts[i].received[kind]));
        }
    }
}

/* ---- how long clients waited ---- */

static void write_waits(FILE *file, const struct grant_statistics *statistics)
{
    static const char name[] = "conclave_grant_wait_seconds";
    uint64_t below = 0;
    write_head(file, name, "histogram", "How long clients waited until they were granted, to the millisecond.");
    for (uint32_t i = 0; i < WAIT_BUCKETS; i++) {
        below += statistics->waits[i];
        if (i + 1 < WAIT_BUCKETS)
            fprintf(file, "%s_bucket{le=\"%g\"} %llu\n", name, (double)grant_statistics_limit_ms(i) / 1000,
                    (number)below);
    }
    fprintf(file, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.3f\n%s_count %llu\n", name, (number)below, name,
            (double)statistics->waited_ms / 1000, name, (number)below);
}

void metrics_write(FILE *file, const struct cv_service *service)
{
    write_build(file, service);
    write_table(file, service);
    write_peers(file, service);
    write_messages(file, service->host, "conclave_messages_sent_total", "Messages of the algorithms, sent.", true);
    write_messages(file, service->host, "conclave_messages_received_total", "Messages of the algorithms, received.",
                   false);
    write_waits(file, &service->statistics);
}
