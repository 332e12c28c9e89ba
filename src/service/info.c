// SPDX-License-Identifier: MIT
#include "service/info.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/printable.h"
#include "live/net/objection.h"
#include "live/net/path.h"
#include "live/process/event_log.h"
#include "live/settings/settings_limits.h"
#include "service/health.h"
#include "service/numbers.h"

typedef unsigned long long number; /* as printf wants it */

void info_write_session(struct cv_resp_writer *out, cv_id node, uint64_t session)
{
    char name[48];
    snprintf(name, sizeof name, "%u/%llu", node, (number)session);
    cv_resp_word(out, name);
}

void info_write_leader(struct session *session, const struct lock *lock)
{
    struct cv_resp_writer *out = &session->out;
    if (!lock || !lock->leader.leads) {
        cv_resp_nil(out);
        return;
    }
    cv_resp_array(out, lock->leader.value ? 4 : 3);
    info_write_session(out, lock->leader.id, lock->leader.session);
    cv_resp_integer(out, (int64_t)lock->leader.fence);
    cv_resp_integer(out, lock->leader.id);
    if (lock->leader.value)
        cv_resp_bulk(out, cv_kept(lock->leader.value));
}

/* ---- VIEW ---- */

/* NULL: this node itself. */
static const struct cv_peer *peer_of(const struct cv_member *member, cv_node node)
{
    return member->peers.list ? member->peers.list[node] : NULL;
}

const char *info_member_state(const struct cv_member *member, cv_node node)
{
    if (node == member->roster.me)
        return "self";
    const struct cv_peer *peer = peer_of(member, node);
    if (!peer || cv_set_has(member->peers.suspected, node))
        return "suspected";
    return peer->greeted ? "alive" : "expected"; /* not connected, but that has not lasted for long */
}

int64_t info_last_heard_ms(const struct cv_member *member, cv_node node)
{
    const struct cv_peer *peer = peer_of(member, node);
    const uint64_t last = peer ? peer->detector.last_us : 0;
    if (node == member->roster.me)
        return 0;
    return last ? (int64_t)((cv_loop_now() - last) / 1000) : -1;
}

/* `status`: NULL if the group agrees on nothing. */
static void write_member(struct cv_resp_writer *out, const struct cv_member *member,
                         const struct cv_member_status *status, cv_node node)
{
    const struct cv_roster *roster = &member->roster;
    const char *address = roster->clients[node] ? roster->clients[node] : roster->addresses[node];
    const struct cv_peer *peer = peer_of(member, node);
    cv_resp_map(out, status ? 9 : 7);
    cv_resp_word(out, "id");
    cv_resp_integer(out, roster->ids[node]);
    if (status) {
        cv_resp_word(out, "voter");
        cv_resp_integer(out, cv_set_has(status->voters, node));
        cv_resp_word(out, "directory");
        cv_resp_integer(out, roster->known[node].directory);
    }
    cv_resp_word(out, "process"); /* tells apart two processes that take turns with one id */
    cv_resp_integer(out, (int64_t)(node == roster->me ? member->peers.incarnation : peer ? peer->process : 0));
    cv_resp_word(out, "at");
    cv_resp_word(out, peer ? cv_peer_at(peer) : "");
    cv_resp_word(out, "member");
    cv_resp_integer(out, cv_host_ready(&member->host) && cv_set_has(member->host.view.members, node));
    cv_resp_word(out, "address");
    cv_resp_word(out, address ? address : "");
    cv_resp_word(out, "state");
    cv_resp_word(out, info_member_state(member, node));
    cv_resp_word(out, "last_heard_ms");
    cv_resp_integer(out, info_last_heard_ms(member, node));
}

static void write_raft(struct cv_resp_writer *out, const struct cv_member *member,
                       const struct cv_member_status *status)
{
    cv_resp_word(out, "lease_ms");
    cv_resp_integer(out, cv_member_lease_left_ms(member));
    cv_resp_word(out, "grace_ms");
    cv_resp_integer(out, (int64_t)status->grace_ms);
    cv_resp_word(out, "raft_leader");
    if (status->leader >= 0)
        cv_resp_integer(out, status->leader);
    else
        cv_resp_nil(out);
    cv_resp_word(out, "raft_term");
    cv_resp_integer(out, (int64_t)status->term);
}

void info_run_view(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_member *member = session->service->member;
    const struct cv_view *view = &member->host.view;
    struct cv_resp_writer *out = &session->out;
    struct cv_member_status told;
    const struct cv_member_status *status = cv_member_agrees(member) ? &told : NULL;
    (void)command;
    if (status)
        cv_member_status(member, &told);
    cv_resp_map(out, status ? 10 : 6);
    cv_resp_word(out, "mode");
    cv_resp_word(out, cv_member_mode(member));
    if (status)
        write_raft(out, member, status);
    cv_resp_word(out, "epoch");
    cv_resp_integer(out, (int64_t)view->epoch);
    cv_resp_word(out, "id");
    cv_resp_integer(out, member->roster.ids[member->roster.me]);
    cv_resp_word(out, "coordinator");
    if (cv_member_serves(member))
        cv_resp_integer(out, member->roster.ids[view->coordinator]);
    else
        cv_resp_nil(out);
    cv_resp_word(out, "election");
    cv_resp_word(out, member->host.policies[0].algorithm->name);
    cv_resp_word(out, "members");
    uint32_t count = 0;
    for (cv_node node = 0; node < member->roster.count; node++)
        count += member->roster.ids[node] != CV_NO_ID;
    cv_resp_array(out, count);
    for (cv_node node = 0; node < member->roster.count; node++)
        if (member->roster.ids[node] != CV_NO_ID)
            write_member(out, member, status, node);
}

/* ---- INFO ---- */

struct page {
    const struct cv_service *service;
    struct numbers numbers;
    char *text;
    size_t length;
    FILE *file;
};

static void write_numbers(const struct page *page, const char *section)
{
    numbers_write(page->file, page->service, &page->numbers, section);
}

static void write_server(const struct page *page)
{
    const struct cv_member *member = page->service->member;
    char why[CV_HEALTH_BYTES];
    fprintf(page->file, "conclave_version:%s\r\nid:%u\r\nmode:%s\r\n", CONCLAVE_VERSION,
            member->roster.ids[member->roster.me], cv_member_mode(member));
    if (page->service->page)
        fprintf(page->file, "page:%s\r\n", page->service->page);
    write_numbers(page, "server");
    write_numbers(page, "turns");
    page->service->loop->longest_turn_us = 0;
    if (!cv_health(page->service, why))
        fprintf(page->file, "trouble:%s\r\n", why);
}

static void write_clients(const struct page *page)
{
    write_numbers(page, "clients");
}

/* The limits of what clients can make this node keep. */
static void write_limits(const struct page *page)
{
    const struct cv_service *service = page->service;
    fprintf(page->file, "limit_clients:%llu\r\nlimit_names:%llu\r\n", (number)service->most_sessions,
            (number)service->host->most);
    for (size_t i = 0; i < cv_limit_count; i++) {
        uint64_t value;
        const char *key = cv_limit_key(service->limits, i, &value);
        fprintf(page->file, "limit_%s:%llu\r\n", key, (number)value);
    }
}

/* A text that came from another member, or from the client that made it join. It cannot leave its line. */
static void write_foreign(FILE *file, const char *key, cv_id id, const char *text)
{
    char shown[4 * CV_ADDRESS_BYTES];
    cv_show_line(shown, sizeof shown, cv_text(text));
    fprintf(file, "%s_%u:%s\r\n", key, id, shown);
}

static void write_peers(const struct page *page)
{
    const struct cv_peers *peers = &page->service->member->peers;
    const struct cv_roster *roster = &page->service->member->roster;
    write_numbers(page, "peers");
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (peers->list[node])
            fprintf(page->file, "peer%u:state=%s,level=%.2f,unacknowledged=%zu,at=%s,moves=%llu\r\n", roster->ids[node],
                    info_member_state(page->service->member, node),
                    cv_detector_level(&peers->list[node]->detector, cv_loop_now()),
                    peers->list[node]->link.end - peers->list[node]->link.start, cv_peer_at(peers->list[node]),
                    (number)peers->list[node]->moves);
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->clients[node])
            write_foreign(page->file, "client_of", roster->ids[node], roster->clients[node]);
    fprintf(page->file, "tls:%s\r\n", peers->security->members ? "yes" : "no");
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (peers->list[node] && *peers->list[node]->trouble)
            write_foreign(page->file, "trouble_with", roster->ids[node], peers->list[node]->trouble);
    for (cv_node node = 0; peers->list && node < roster->count; node++) {
        const char *objection = peers->list[node] ? cv_peer_objection(peers->list[node]) : NULL;
        if (objection)
            write_foreign(page->file, "refuses", roster->ids[node], objection);
    }
    write_numbers(page, "tls");
}

static void write_agreement(const struct page *page)
{
    const struct cv_member *member = page->service->member;
    struct cv_member_status status;
    char ids[CV_LOG_IDS_BYTES];
    write_numbers(page, "raft");
    write_numbers(page, "log");
    if (!cv_member_agrees(member))
        return;
    cv_member_status(member, &status);
    if (status.witness)
        fprintf(page->file, "tie_breaker:%s\r\ntie_breaker_state:%s\r\n", status.witness,
                status.witness_trouble ? status.witness_trouble : "ok");
    else
        fprintf(page->file, "log_voters:%s\r\n", cv_log_ids(&member->roster, status.log_voters, ids));
    write_numbers(page, "tie");
}

static void write_locks(const struct page *page)
{
    write_numbers(page, "locks");
}

/* Messages by algorithm and kind. As in the texts, those to oneself are not counted. */
static void write_messages(const struct page *page)
{
    const struct cv_algorithm_host *host = page->service->host;
    for (uint32_t i = 0; i < host->policy_count; i++)
        for (uint32_t kind = 0; kind < host->policies[i].kinds; kind++)
            fprintf(page->file, "%s/%s.%s:sent=%llu,received=%llu\r\n", i ? host->policies[i].pattern : "group",
                    host->policies[i].algorithm->name, host->policies[i].algorithm->kinds[kind].name,
                    (number)host->counts[i].sent[kind], (number)host->counts[i].received[kind]);
}

static void write_detector(const struct page *page)
{
    const struct cv_peers *peers = &page->service->member->peers;
    const struct cv_roster *roster = &page->service->member->roster;
    write_numbers(page, "detector");
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (peers->list[node])
            fprintf(
                page->file, "timeout_ms_of_%u:%llu\r\n", roster->ids[node],
                (number)((cv_detector_deadline(&peers->list[node]->detector) - peers->list[node]->detector.last_us) /
                         1000));
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (peers->list[node] && peers->list[node]->round_trip_us)
            fprintf(page->file, "round_trip_us_of_%u:%llu\r\n", roster->ids[node],
                    (number)peers->list[node]->round_trip_us);
}

/* The settings that should be the same on all members; the doctor compares them line by line. */
static void write_configuration(const struct page *page)
{
    const struct cv_member *member = page->service->member;
    const struct cv_roster *roster = &member->roster;
    struct cv_member_status status;
    FILE *file = page->file;
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->ids[node] != CV_NO_ID)
            fprintf(file, "member_%u:attribute=%u,vote=%s%s\r\n", roster->ids[node], roster->attributes[node],
                    cv_set_has(roster->voters, node) ? "yes" : "no",
                    cv_set_has(roster->standbys, node) ? ",standby=yes" : "");
    fprintf(file, "group_mode:%s\r\nheartbeat:%llu\r\ntimeout:%llu\r\nlongest_timeout:%llu\r\nbound:%llu\r\n",
            cv_member_mode(member), (number)(member->peers.heartbeat_us / 1000),
            (number)(member->peers.least_us / 1000), (number)(member->peers.most_us / 1000),
            (number)(member->bound_us / 1000));
    if (cv_member_agrees(member)) {
        cv_member_status(member, &status);
        fprintf(file, "lease:%llu\r\ndrift_ppm:%llu\r\nvoters:%u\r\nhold_off:%llu\r\n",
                (number)(status.lease.length_us / 1000), (number)status.lease.drift_ppm,
                status.seating->terms.values[CV_TERM_VOTERS], (number)status.hold_off_ms);
    }
    for (uint32_t i = 0; i < member->host.policy_count; i++) {
        const struct cv_policy *policy = &member->host.policies[i];
        const char *problem = policy->algorithm->problem == CV_MUTEX ? "lock" : "election";
        const char *pattern = policy->pattern ? policy->pattern : "group";
        char digest[CV_DIGEST_TEXT_BYTES];
        fprintf(file, "%s_of_%s:%s/%08x\r\n", problem, pattern, policy->algorithm->name, policy->fingerprint);
        if (policy->file)
            fprintf(file, "sha256_of_%s_%s:%s\r\n", problem, pattern, cv_digest_text(&policy->digest, digest));
    }
}

static const struct {
    const char *name, *title;
    void (*write)(const struct page *page);
} sections[] = {
    {"server", "Server", write_server},       {"clients", "Clients", write_clients},
    {"peers", "Peers", write_peers},          {"locks", "Locks", write_locks},
    {"messages", "Messages", write_messages}, {"detector", "Detector", write_detector},
    {"raft", "Raft", write_agreement},        {"configuration", "Configuration", write_configuration},
    {"limits", "Limits", write_limits},
};

void info_run_info(struct session *session, const struct cv_resp_command *command)
{
    struct page page = {.service = session->service};
    page.file = open_memstream(&page.text, &page.length);
    if (!page.file) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return;
    }
    numbers_gather(page.service, &page.numbers);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const bool wanted =
            command->count < 2 || cv_resp_is(command->word[1], sections[i].name) || cv_resp_is(command->word[1], "all");
        if (!wanted)
            continue;
        fprintf(page.file, "%s# %s\r\n", ftell(page.file) ? "\r\n" : "", sections[i].title);
        sections[i].write(&page);
    }
    fclose(page.file);
    cv_resp_bulk(&session->out, (struct cv_text){page.text, page.length});
    free(page.text);
}
