// SPDX-License-Identifier: MIT
/* What the node shows of itself: LOCKS, VIEW, INFO, and who leads. */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/service.h"

typedef unsigned long long number; /* as printf wants it */

static void write_session(struct cv_resp_writer *out, const struct cv_host *host, cv_node node, uint64_t session)
{
    char name[48];
    snprintf(name, sizeof name, "%u/%llu", host->roster->ids[node], (number)session);
    cv_resp_word(out, name);
}

void cv_facts_leader(struct cv_session *session, const struct cv_lock *lock)
{
    struct cv_resp_writer *out = &session->out;
    const struct cv_host *host = session->service->host;
    if (!lock || !lock->leader.leads) {
        cv_resp_nil(out);
        return;
    }
    cv_resp_array(out, 3);
    write_session(out, host, lock->leader.node, lock->leader.session);
    cv_resp_integer(out, (int64_t)lock->leader.fence);
    cv_resp_integer(out, host->roster->ids[lock->leader.node]);
}

/* ---- LOCKS ---- */

/* Names that a session has nothing to do with are not for it to see. */
static bool shown(const struct cv_session *session, const struct cv_instance *instance, const char *pattern)
{
    return instance->user && (!pattern || fnmatch(pattern, instance->name, 0) == 0) &&
           cv_acl_allows(session->acl, CV_MAY_OBSERVE, cv_instance_name(instance));
}

static void write_lock(struct cv_resp_writer *out, const struct cv_host *host, const struct cv_lock *lock)
{
    const struct cv_instance *instance = lock->instance;
    const struct cv_hold *hold = lock->holds;
    cv_resp_map(out, 7);
    cv_resp_word(out, "name");
    cv_resp_bulk(out, cv_instance_name(instance));
    cv_resp_word(out, "kind");
    cv_resp_word(out, instance->subject == CV_SUBJECT_LEADER ? "election" : "lock");
    cv_resp_word(out, "algorithm");
    cv_resp_word(out, (lock->balloted && lock->ballot ? lock->ballot : instance)->policy->algorithm->name);
    cv_resp_word(out, "holder");
    if (hold)
        write_session(out, host, host->roster->me, hold->owner);
    else
        cv_resp_nil(out);
    cv_resp_word(out, "fence");
    cv_resp_integer(out, hold ? (int64_t)hold->fence : 0);
    cv_resp_word(out, "waiters");
    cv_resp_integer(out, (int64_t)lock->waiting);
    cv_resp_word(out, "shared");
    cv_resp_integer(out, hold && hold->shared ? (int64_t)lock->holding : 0);
}

void cv_facts_locks(struct cv_session *session, const struct cv_resp_command *command)
{
    const struct cv_host *host = session->service->host;
    char *pattern = command->count > 1 ? strndup(command->word[1].start, command->word[1].length) : NULL;
    size_t count = 0;
    for (size_t i = 0; i < host->count; i++)
        count += shown(session, host->all[i], pattern);
    cv_resp_array(&session->out, count);
    for (size_t i = 0; i < host->count; i++)
        if (shown(session, host->all[i], pattern))
            write_lock(&session->out, host, host->all[i]->user);
    free(pattern);
}

/* ---- VIEW ---- */

static const char *state_of(const struct cv_member *member, cv_node node)
{
    if (node == member->roster.me)
        return "self";
    if (cv_set_has(member->peers.suspected, node))
        return "suspected";
    return member->peers.list[node].greeted ? "alive" : "expected"; /* not connected, but not for long yet */
}

static int64_t last_heard_ms(const struct cv_member *member, cv_node node)
{
    const uint64_t last = member->peers.list ? member->peers.list[node].detector.last_us : 0;
    if (node == member->roster.me)
        return 0;
    return last ? (int64_t)((cv_loop_now() - last) / 1000) : -1;
}

static void write_member(struct cv_resp_writer *out, const struct cv_member *member, cv_node node)
{
    const struct cv_roster *roster = &member->roster;
    const char *address = roster->clients[node] ? roster->clients[node] : roster->addresses[node];
    cv_resp_map(out, 6);
    cv_resp_word(out, "id");
    cv_resp_integer(out, roster->ids[node]);
    cv_resp_word(out, "at");
    cv_resp_word(out, node == roster->me ? "" : cv_peer_at(&member->peers.list[node]));
    cv_resp_word(out, "member");
    cv_resp_integer(out, cv_host_ready(&member->host) && cv_set_has(member->host.view.members, node));
    cv_resp_word(out, "address");
    cv_resp_word(out, address ? address : "");
    cv_resp_word(out, "state");
    cv_resp_word(out, state_of(member, node));
    cv_resp_word(out, "last_heard_ms");
    cv_resp_integer(out, last_heard_ms(member, node));
}

/* The id of who leads the log, or -1. */
static int64_t log_leader(const struct cv_raft *raft)
{
    return (int64_t)raft->leader - 1;
}

static void write_raft(struct cv_resp_writer *out, const struct cv_member *member)
{
    cv_resp_word(out, "lease_ms");
    cv_resp_integer(out, cv_raft_left_ms(member->raft));
    cv_resp_word(out, "raft_leader");
    if (member->raft->leader)
        cv_resp_integer(out, log_leader(member->raft));
    else
        cv_resp_nil(out);
    cv_resp_word(out, "raft_term");
    cv_resp_integer(out, (int64_t)member->raft->term);
}

void cv_facts_view(struct cv_session *session, const struct cv_resp_command *command)
{
    const struct cv_member *member = session->service->member;
    const struct cv_view *view = &member->host.view;
    struct cv_resp_writer *out = &session->out;
    (void)command;
    cv_resp_map(out, member->raft ? 9 : 6);
    cv_resp_word(out, "mode");
    cv_resp_word(out, cv_member_mode(member));
    if (member->raft)
        write_raft(out, member);
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
    cv_resp_array(out, member->roster.count);
    for (cv_node node = 0; node < member->roster.count; node++)
        write_member(out, member, node);
}

/* ---- INFO ---- */

struct page {
    char *text;
    size_t length;
    FILE *file;
};

static void write_server(FILE *file, const struct cv_service *service)
{
    const struct cv_member *member = service->member;
    fprintf(file, "conclave_version:%s\r\nid:%u\r\nmode:%s\r\nuptime_in_seconds:%llu\r\nepoch:%llu\r\nviews:%llu\r\n",
            CONCLAVE_VERSION, member->roster.ids[member->roster.me], cv_member_mode(member),
            (number)((cv_loop_now() - member->started_us) / 1000000), (number)member->host.view.epoch,
            (number)(member->raft ? member->raft->assembly.changes : member->council.changes));
    fprintf(file, "term:%llu\r\nelections:%llu\r\n", (number)member->term, (number)member->elections);
}

static void write_clients(FILE *file, const struct cv_service *service)
{
    fprintf(file, "connected_clients:%llu\r\ntotal_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n",
            (number)service->session_count, (number)service->session_total, (number)service->commands);
    fprintf(file, "strangers:%llu\r\ndropped_strangers:%llu\r\nrefused_clients:%llu\r\n", (number)service->door.count,
            (number)service->door.dropped, (number)service->refused);
}

static void write_peers(FILE *file, const struct cv_service *service)
{
    const struct cv_peers *peers = &service->member->peers;
    const struct cv_roster *roster = &service->member->roster;
    fprintf(file, "bytes_in:%llu\r\nbytes_out:%llu\r\nrefused:%llu\r\ndisagreements:%llu\r\n", (number)peers->bytes_in,
            (number)peers->bytes_out, (number)peers->refused, (number)service->member->disagreements);
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (node != roster->me)
            fprintf(file, "peer%u:state=%s,level=%.2f,unacknowledged=%zu,at=%s,moves=%llu\r\n", roster->ids[node],
                    state_of(service->member, node), cv_detector_level(&peers->list[node].detector, cv_loop_now()),
                    peers->list[node].link.end - peers->list[node].link.start, cv_peer_at(&peers->list[node]),
                    (number)peers->list[node].moves);
    fprintf(file, "tls:%s\r\ndropped_peers:%llu\r\n", peers->security->members ? "yes" : "no",
            (number)peers->door.dropped);
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (node != roster->me && *peers->list[node].trouble)
            fprintf(file, "trouble_with_%u:%s\r\n", roster->ids[node], peers->list[node].trouble);
}

/* `group raft` alone. */
static void write_agreement(FILE *file, const struct cv_service *service)
{
    const struct cv_raft *raft = service->member->raft;
    if (!raft)
        return;
    fprintf(file, "lease_ms:%lld\r\nlease_length_ms:%llu\r\nlapses:%llu\r\n", (long long)cv_raft_left_ms(raft),
            (number)(raft->lease.terms.length_us / 1000), (number)raft->lapses);
    if (raft->breaker) {
        const char *trouble = cv_breaker_trouble(raft->breaker);
        fprintf(file, "tie_breaker:%s\r\ntie_breaker_state:%s\r\ntie_entry:%llu\r\n", raft->breaker->path,
                trouble ? trouble : "ok", (number)raft->term);
        return;
    }
    const struct cv_agreement_status status = cv_agreement_status(raft->agreement);
    fprintf(file, "raft_leader:%lld\r\nraft_term:%llu\r\nraft_committed:%llu\r\nraft_stored:%llu\r\n",
            (long long)log_leader(raft), (number)raft->term, (number)status.committed, (number)status.stored);
}

static void write_locks(FILE *file, const struct cv_service *service)
{
    uint64_t held = 0, waiting = 0;
    for (size_t i = 0; i < service->host->count; i++) {
        const struct cv_lock *lock = service->host->all[i]->user;
        held += lock ? lock->holding : 0;
        waiting += lock ? lock->waiting : 0;
    }
    fprintf(file, "names:%zu\r\nheld:%llu\r\nwaiting:%llu\r\n", service->host->count - 1, (number)held,
            (number)waiting);
}

/* Messages by algorithm and kind, as the texts count them: none to oneself. */
static void write_messages(FILE *file, const struct cv_service *service)
{
    const struct cv_host *host = service->host;
    for (uint32_t i = 0; i < host->policy_count; i++)
        for (uint32_t kind = 0; kind < host->policies[i].kinds; kind++)
            fprintf(file, "%s/%s.%s:sent=%llu,received=%llu\r\n", i ? host->policies[i].pattern : "group",
                    host->policies[i].algorithm->name, host->policies[i].algorithm->kinds[kind].name,
                    (number)host->counts[i].sent[kind], (number)host->counts[i].received[kind]);
}

static void write_detector(FILE *file, const struct cv_service *service)
{
    const struct cv_peers *peers = &service->member->peers;
    const struct cv_roster *roster = &service->member->roster;
    uint64_t suspicions = 0, mistakes = 0, mistaken_us = 0;
    for (cv_node node = 0; peers->list && node < roster->count; node++) {
        suspicions += peers->list[node].detector.suspicions;
        mistakes += peers->list[node].detector.mistakes;
        mistaken_us += peers->list[node].detector.mistaken_us;
    }
    fprintf(file, "heartbeat_ms:%llu\r\nsuspicions:%llu\r\nmistakes:%llu\r\nmistaken_ms:%llu\r\n",
            (number)(peers->heartbeat_us / 1000), (number)suspicions, (number)mistakes, (number)(mistaken_us / 1000));
    for (cv_node node = 0; peers->list && node < roster->count; node++)
        if (node != roster->me)
            fprintf(file, "timeout_ms_of_%u:%llu\r\n", roster->ids[node],
                    (number)((cv_detector_deadline(&peers->list[node].detector) - peers->list[node].detector.last_us) /
                             1000));
}

static const struct {
    const char *name, *title;
    void (*write)(FILE *file, const struct cv_service *service);
} sections[] = {
    {"server", "Server", write_server},       {"clients", "Clients", write_clients},
    {"peers", "Peers", write_peers},          {"locks", "Locks", write_locks},
    {"messages", "Messages", write_messages}, {"detector", "Detector", write_detector},
    {"raft", "Raft", write_agreement},
};

void cv_facts_info(struct cv_session *session, const struct cv_resp_command *command)
{
    struct page page = {0};
    page.file = open_memstream(&page.text, &page.length);
    if (!page.file) {
        cv_resp_error(&session->out, "BUSY no memory");
        return;
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const bool wanted =
            command->count < 2 || cv_resp_is(command->word[1], sections[i].name) || cv_resp_is(command->word[1], "all");
        if (!wanted)
            continue;
        fprintf(page.file, "%s# %s\r\n", ftell(page.file) ? "\r\n" : "", sections[i].title);
        sections[i].write(page.file, session->service);
    }
    fclose(page.file);
    cv_resp_bulk(&session->out, (struct cv_text){page.text, page.length});
    free(page.text);
}
