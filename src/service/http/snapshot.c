// SPDX-License-Identifier: MIT
#include "service/http/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/printable.h"
#include "live/net/path.h"
#include "live/process/event_log.h"
#include "service/health.h"
#include "service/info.h"
#include "service/numbers.h"

#define END_BYTES 128u                             /* kept for the end, which closes everything */
#define FOREIGN_BYTES 64u                          /* shown of a text that is not worth more */
#define NAME_SHOWN_BYTES (4u * CV_NAME_BYTES + 1u) /* shown, a byte may become four */
#define MOST_POLICIES 32u

typedef unsigned long long number; /* as printf wants it */

/* ---- JSON ---- */

struct writer {
    char *at, *end; /* `end`: no further, but for the end of it all */
    bool full;      /* something had no room */
};

static void put(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *out, const char *format, ...)
{
    va_list arguments;
    const size_t room = (size_t)(out->end - out->at);
    if (out->full)
        return;
    va_start(arguments, format);
    const int wanted = vsnprintf(out->at, room, format, arguments);
    va_end(arguments);
    out->full = wanted < 0 || (size_t)wanted >= room;
    if (!out->full)
        out->at += wanted;
}

/* The part since then is there as a whole, or not at all. */
static void end_part(struct writer *out, char *before)
{
    if (out->full)
        out->at = before;
    out->full = false;
}

static void put_bytes(struct writer *out, const char *bytes, size_t length)
{
    out->full = out->full || length >= (size_t)(out->end - out->at);
    if (out->full)
        return;
    memcpy(out->at, bytes, length);
    out->at += length;
}

static void put_text(struct writer *out, struct cv_text text)
{
    put_bytes(out, "\"", 1);
    while (text.length && !out->full) {
        char piece[CV_JSON_PIECE_BYTES];
        size_t taken = cv_json_plain(text);
        put_bytes(out, text.start, taken);
        text.start += taken;
        text.length -= taken;
        if (!text.length)
            break;
        taken = cv_json_piece(text, piece);
        put_bytes(out, piece, strlen(piece));
        text.start += taken;
        text.length -= taken;
    }
    put_bytes(out, "\"", 1);
}

static void put_word(struct writer *out, const char *key, const char *text)
{
    put(out, ",\"%s\":", key);
    put_text(out, cv_text(text));
}

/* A text that others have chosen, so that it shows what it is; only its beginning if it is longer than `most`. */
static void put_foreign(struct writer *out, const char *key, struct cv_text text, size_t most)
{
    char shown[NAME_SHOWN_BYTES];
    cv_show(shown, most, text);
    put_word(out, key, shown);
}

/* ---- this node and its group ---- */

static void put_node(struct writer *out, const struct cv_service *service, const struct numbers *numbers)
{
    const struct cv_member *member = service->member;
    char why[CV_HEALTH_BYTES];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    put(out, "\"schema\":1,\"time\":%lld,\"clock\":%llu,\"node\":%u",
        (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, (number)cv_loop_coarse_ms(service->loop),
        member->roster.ids[member->roster.me]);
    put_word(out, "version", CONCLAVE_VERSION);
    put_word(out, "mode", cv_member_mode(member));
    put(out, ",\"started\":%lld", (long long)numbers->started_ms);
    if (!cv_health(service, why))
        put_word(out, "trouble", why);
}

static void put_view(struct writer *out, const struct cv_member *member, const struct numbers *numbers)
{
    put(out, ",\"view\":{\"epoch\":%lld,\"members\":%lld,\"views\":%lld", (long long)numbers->epoch,
        (long long)numbers->view_members, (long long)numbers->views);
    if (member->began_us && numbers->view_members)
        put(out, ",\"age\":%llu", (number)((cv_loop_now() - member->began_us) / 1000));
    if (numbers->coordinator >= 0)
        put(out, ",\"coordinator\":%lld", (long long)numbers->coordinator);
    put_word(out, "election", member->host.policies[0].algorithm->name);
    put(out, "}");
    if (!cv_member_agrees(member))
        return;
    put(out, ",\"lease\":{\"left\":%lld,\"length\":%lld,\"lapses\":%lld,\"grace\":%lld}", (long long)numbers->lease_ms,
        (long long)numbers->lease_length_ms, (long long)numbers->lapses, (long long)numbers->grace_ms);
    if (strcmp(cv_member_mode(member), "raft") == 0)
        put(out, ",\"log\":{\"leader\":%lld,\"term\":%lld,\"committed\":%lld}", (long long)numbers->raft_leader,
            (long long)numbers->raft_term, (long long)numbers->raft_committed);
}

/* Addresses are for operators. */
static void put_peer(struct writer *out, const struct cv_peer *peer, bool admin)
{
    put(out, ",\"suspicions\":%llu,\"mistakes\":%llu", (number)peer->detector.suspicions,
        (number)peer->detector.mistakes);
    if (peer->round_trip_us)
        put(out, ",\"trip\":%llu", (number)peer->round_trip_us);
    if (!admin)
        return;
    if (*cv_peer_at(peer))
        put_foreign(out, "at", cv_text(cv_peer_at(peer)), FOREIGN_BYTES);
    if (*peer->trouble)
        put_foreign(out, "trouble", cv_text(peer->trouble), FOREIGN_BYTES);
}

static void put_members(struct writer *out, const struct cv_member *member, bool admin)
{
    const struct cv_roster *roster = &member->roster;
    const bool agrees = cv_member_agrees(member);
    struct cv_member_status status;
    uint32_t count = 0;
    char *before = out->at;
    if (agrees)
        cv_member_status(member, &status);
    put(out, ",\"members\":[");
    for (cv_node node = 0; node < roster->count; node++) {
        if (roster->ids[node] == CV_NO_ID)
            continue;
        const struct cv_peer *peer = member->peers.list ? member->peers.list[node] : NULL;
        const char *address = roster->clients[node] ? roster->clients[node] : roster->addresses[node];
        const bool in_view = cv_host_ready(&member->host) && cv_set_has(member->host.view.members, node);
        put(out, "%s{\"id\":%u,\"state\":\"%s\",\"view\":%s,\"heard\":%lld", count++ ? "," : "", roster->ids[node],
            info_member_state(member, node), in_view ? "true" : "false", (long long)info_last_heard_ms(member, node));
        if (agrees)
            put(out, ",\"voter\":%s", cv_set_has(status.voters, node) ? "true" : "false");
        if (address && admin)
            put_foreign(out, "address", cv_text(address), FOREIGN_BYTES);
        if (peer)
            put_peer(out, peer, admin);
        put(out, "}");
    }
    put(out, "]");
    end_part(out, before);
}

static void put_counts(struct writer *out, const struct numbers *numbers)
{
    put(out,
        ",\"counts\":{\"clients\":%lld,\"most\":%lld,\"held\":%lld,\"waiting\":%lld,\"grants\":%lld,\"releases\":%lld,"
        "\"losses\":%lld,\"commands\":%lld}",
        (long long)numbers->clients, (long long)numbers->most_clients, (long long)numbers->held,
        (long long)numbers->waiting, (long long)numbers->grants, (long long)numbers->releases,
        (long long)numbers->losses, (long long)numbers->commands);
}

/* Each kind with how many were sent and received. */
static void put_messages(struct writer *out, const struct cv_algorithm_host *host)
{
    const uint32_t shown = host->policy_count < MOST_POLICIES ? host->policy_count : MOST_POLICIES;
    char *before = out->at;
    put(out, ",\"messages\":[");
    for (uint32_t i = 0; i < shown; i++) {
        const struct cv_policy *policy = &host->policies[i];
        put(out, "%s{\"algorithm\":\"%s\"", i ? "," : "", policy->algorithm->name);
        if (i)
            put_foreign(out, "names", cv_text(policy->pattern), FOREIGN_BYTES);
        put(out, ",\"kinds\":[");
        for (uint32_t kind = 0; kind < policy->kinds; kind++)
            put(out, "%s[\"%s\",%llu,%llu]", kind ? "," : "", policy->algorithm->kinds[kind].name,
                (number)host->counts[i].sent[kind], (number)host->counts[i].received[kind]);
        put(out, "]}");
    }
    put(out, "],\"more_messages\":%u", host->policy_count - shown);
    end_part(out, before);
}

/* ---- what has happened ---- */

static void put_events(struct writer *out)
{
    uint64_t last = 0;
    char *before = out->at;
    put(out, ",\"events\":[");
    for (const struct cv_log_entry *it = NULL; (it = cv_log_after(last)); last = it->number) {
        put(out, "%s{\"number\":%llu,\"time\":%lld,\"event\":\"%s\",\"level\":\"%s\"", last ? "," : "",
            (number)it->number, (long long)it->time_ms, cv_log_event_name(it->event), cv_log_event_level(it->event));
        put_word(out, "text", it->text);
        put(out, "}");
    }
    put(out, "]");
    end_part(out, before);
}

/* The latest first. */
static void put_recent(struct writer *out, const struct recent_holds *recent, const struct cv_acl *acl)
{
    static const char *const changes[] = {[HOLD_GRANTED] = "granted", [HOLD_ENDED] = "ended", [HOLD_LOST] = "lost"};
    const struct recent_hold *it;
    uint32_t count = 0;
    char *before = out->at;
    put(out, ",\"changes\":%llu,\"recent\":[", (number)recent->number);
    for (uint32_t i = 0; (it = recent_holds_last(recent, i)); i++) {
        const struct cv_text name = {it->name, it->name_length};
        if (!cv_acl_allows(acl, CV_MAY_OBSERVE, name))
            continue;
        put(out,
            "%s{\"number\":%llu,\"at\":%llu,\"change\":\"%s\",\"election\":%s,\"who\":\"%u/%llu\",\"fence\":\"%llu\"",
            count++ ? "," : "", (number)it->number, (number)it->at_ms, changes[it->change],
            it->election ? "true" : "false", it->node, (number)it->session, (number)it->fence);
        put_foreign(out, "name", name, FOREIGN_BYTES);
        put(out, "}");
    }
    put(out, "]");
    end_part(out, before);
}

/* ---- names ---- */

static void put_clients(struct writer *out, const char *key, const struct survey_client *clients, uint32_t count)
{
    put(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        const struct survey_client *it = &clients[i];
        put(out, "%s{\"who\":\"%u/%llu\"", i ? "," : "", it->node, (number)it->session);
        if (it->fence)
            put(out, ",\"fence\":\"%llu\"", (number)it->fence); /* JavaScript would round it */
        if (it->since_ms)
            put(out, ",\"since\":%llu", (number)it->since_ms);
        if (it->ttl_ms)
            put(out, ",\"ttl\":%llu", (number)it->ttl_ms);
        if (it->shared)
            put(out, ",\"shared\":true");
        if (it->asked_back)
            put(out, ",\"asked\":true");
        if (it->forced)
            put(out, ",\"forced\":true");
        if (it->name_length)
            put_foreign(out, "client", (struct cv_text){it->name, it->name_length}, NAME_SHOWN_BYTES);
        put(out, "}");
    }
    put(out, "]");
}

static void put_row(struct writer *out, const struct survey_row *row)
{
    put(out, "{\"kind\":\"%s\",\"algorithm\":\"%s\",\"holding\":%llu,\"waiting\":%llu",
        row->election ? "election" : "lock", row->algorithm, (number)row->holding, (number)row->waiting);
    put_foreign(out, "name", (struct cv_text){row->name, row->name_length}, NAME_SHOWN_BYTES);
    if (row->elsewhere)
        put(out, ",\"elsewhere\":true");
    put_clients(out, "holders", row->holders, row->holder_count);
    put_clients(out, "waiters", row->waiters, row->waiter_count);
    put(out, "}");
}

/* What has no room is counted only. */
static void put_names(struct writer *out, const struct survey *survey)
{
    uint32_t shown = 0;
    put(out, ",\"names\":[");
    for (bool room = true; shown < survey->row_count && room; shown++) {
        char *before = out->at;
        put(out, "%s", shown ? "," : "");
        put_row(out, survey->order[shown]);
        room = !out->full;
        end_part(out, before);
    }
    out->end += END_BYTES;
    put(out, "],\"in_use\":%llu,\"hidden\":%llu}\n\n", (number)survey->in_use, (number)survey->hidden);
}

/* ---- all of it ---- */

struct snapshot *snapshot_make(const struct survey *survey, const struct recent_holds *recent)
{
    const struct cv_service *service = survey->service;
    const bool admin = cv_acl_allows(survey->acl, CV_MAY_ADMIN, (struct cv_text){"", 0});
    struct snapshot *snapshot = malloc(sizeof *snapshot + SNAPSHOT_BYTES);
    struct numbers numbers;
    if (!snapshot)
        return NULL;
    struct writer out = {.at = snapshot->bytes, .end = snapshot->bytes + SNAPSHOT_BYTES - END_BYTES};
    numbers_gather(service, &numbers);
    put(&out, "data: {");
    put_node(&out, service, &numbers);
    put_view(&out, service->member, &numbers);
    put_counts(&out, &numbers);
    put_members(&out, service->member, admin);
    put_messages(&out, service->host);
    if (admin)
        put_events(&out);
    put_recent(&out, recent, survey->acl);
    put_names(&out, survey);
    snapshot->users = 1;
    snapshot->length = (size_t)(out.at - snapshot->bytes);
    return snapshot;
}

void snapshot_leave(struct snapshot *snapshot)
{
    if (snapshot && --snapshot->users == 0)
        free(snapshot);
}
