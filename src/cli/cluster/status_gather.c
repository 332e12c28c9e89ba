// SPDX-License-Identifier: MIT
#include "cli/cluster/status_gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/printable.h"

#define ANSWER_MS 1000
#define LONGEST_NAME 2304u /* escaped, a byte may become four */

static void copy(char *to, size_t room, struct cv_text text)
{
    cv_show(to, room, text);
}

/* ---- members ---- */

static void read_view(struct status *status, struct cv_text view)
{
    struct cv_text members = ask_value(view, "members"), member;
    uint64_t left = UINT64_MAX;
    status->epoch = ask_number(ask_value(view, "epoch"));
    status->coordinator = ask_number(ask_value(view, "coordinator"));
    status->raft_leader = ask_number(ask_value(view, "raft_leader"));
    status->raft_term = ask_number(ask_value(view, "raft_term"));
    copy(status->mode, sizeof status->mode, ask_text(ask_value(view, "mode")));
    copy(status->election, sizeof status->election, ask_text(ask_value(view, "election")));
    while (status->member_count < CV_MAX_MEMBERS && ask_each(&members, &left, &member)) {
        struct status_member *it = &status->members[status->member_count++];
        it->id = ask_number(ask_value(member, "id"));
        it->lease_ms = -1;
        it->last_heard_ms = ask_number(ask_value(member, "last_heard_ms"));
        copy(it->address, sizeof it->address, ask_text(ask_value(member, "address")));
        copy(it->at, sizeof it->at, ask_text(ask_value(member, "at")));
        copy(it->state, sizeof it->state, ask_text(ask_value(member, "state")));
    }
}

/* ---- locks ---- */

static int by_name(const void *left, const void *right)
{
    const struct status_lock *x = left, *y = right;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->kind, y->kind);
}

static bool add_lock(struct status *status, struct cv_text lock)
{
    struct status_lock *locks = realloc(status->locks, (status->lock_count + 1) * sizeof *locks);
    if (!locks)
        return false;
    status->locks = locks;
    struct status_lock *it = &locks[status->lock_count];
    char name[LONGEST_NAME];
    copy(name, sizeof name, ask_text(ask_value(lock, "name")));
    *it = (struct status_lock){.name = strdup(name),
                               .fence = ask_number(ask_value(lock, "fence")),
                               .waiters = (uint64_t)ask_number(ask_value(lock, "waiters")),
                               .shared = (uint64_t)ask_number(ask_value(lock, "shared")),
                               .held_ms = ask_number(ask_value(lock, "held_ms")),
                               .asked_back_ms = ask_number(ask_value(lock, "asked_back_ms")),
                               .forced = ask_number(ask_value(lock, "forced")) > 0};
    if (!it->name)
        return false;
    copy(it->kind, sizeof it->kind, ask_text(ask_value(lock, "kind")));
    copy(it->algorithm, sizeof it->algorithm, ask_text(ask_value(lock, "algorithm")));
    copy(it->holder, sizeof it->holder, ask_text(ask_value(lock, "holder")));
    copy(it->client, sizeof it->client, ask_text(ask_value(lock, "client")));
    status->lock_count++;
    return true;
}

/* Each node knows only its own clients. This sums up what all nodes say about a name. */
static void merge_locks(struct status *status)
{
    size_t kept = 0;
    if (status->lock_count)
        qsort(status->locks, status->lock_count, sizeof *status->locks, by_name);
    for (size_t i = 0; i < status->lock_count; i++) {
        struct status_lock *it = &status->locks[i];
        if (!kept || by_name(&status->locks[kept - 1], it) != 0) {
            status->locks[kept++] = *it;
            continue;
        }
        struct status_lock *same = &status->locks[kept - 1];
        same->waiters += it->waiters;
        same->shared += it->shared;
        if (*it->holder) {
            memcpy(same->holder, it->holder, sizeof same->holder);
            memcpy(same->client, it->client, sizeof same->client);
            same->fence = it->fence;
            same->held_ms = it->held_ms;
            same->asked_back_ms = it->asked_back_ms;
            same->forced = it->forced;
        }
        free(it->name);
    }
    status->lock_count = kept;
}

/* ---- INFO ---- */

static void count_kind(struct status *status, struct cv_text name, uint64_t sent)
{
    for (size_t i = 0; i < status->kind_count; i++)
        if (cv_text_is(name, status->kinds[i].name)) {
            status->kinds[i].sent += sent;
            return;
        }
    struct status_kind *kinds = realloc(status->kinds, (status->kind_count + 1) * sizeof *kinds);
    if (!kinds)
        return;
    status->kinds = kinds;
    copy(kinds[status->kind_count].name, sizeof kinds->name, name);
    kinds[status->kind_count++].sent = sent;
}

/* A node that listens at every address is found at the host where its clients connect. */
static void read_page(struct status_member *member, struct cv_text url)
{
    struct cv_text scheme, rest, host = {"localhost", 9};
    const char *colon = strrchr(member->address, ':');
    if (!cv_text_split(url, '/', &scheme, &rest) || !rest.length)
        return;
    const char *port = memrchr(rest.start, ':', rest.length);
    const size_t before = port ? (size_t)(port - rest.start) - 1 : 0; /* of the host, after the second slash */
    const struct cv_text listens = {rest.start + 1, before};
    const bool anywhere = cv_text_is(listens, "*") || cv_text_is(listens, "0.0.0.0") || cv_text_is(listens, "[::]");
    if (!port || !anywhere) {
        copy(member->page, sizeof member->page, url);
        return;
    }
    if (colon && !strchr(member->address, '/'))
        host = (struct cv_text){member->address, (size_t)(colon - member->address)};
    snprintf(member->page, sizeof member->page, "%.*s//%.*s%.*s", (int)scheme.length, scheme.start, (int)host.length,
             host.start, (int)(rest.length - before - 1), port);
}

static void read_info(struct status *status, struct status_member *member, struct cv_text info)
{
    struct cv_text line, key, value, first, rest;
    while (cv_text_take(&info, '\n', &line)) {
        uint64_t number;
        if (line.length && line.start[line.length - 1] == '\r')
            line.length--;
        if (cv_text_split(line, ':', &first, &rest) && cv_text_is(first, "page"))
            read_page(member, rest);
        const char *colon = line.length ? memrchr(line.start, ':', line.length) : NULL;
        if (!colon)
            continue;
        key = (struct cv_text){line.start, (size_t)(colon - line.start)};
        value = (struct cv_text){colon + 1, line.length - key.length - 1};
        if (cv_text_split(value, ',', &first, &rest) && cv_text_split(first, '=', &first, &rest) &&
            cv_text_is(first, "sent") && cv_parse_number(rest, UINT64_MAX, &number))
            count_kind(status, key, number);
        else if (cv_text_is(key, "connected_clients"))
            cv_parse_number(value, UINT64_MAX, &member->clients);
        else if (cv_text_is(key, "suspicions"))
            cv_parse_number(value, UINT64_MAX, &member->suspicions);
        else if (cv_text_is(key, "mistakes"))
            cv_parse_number(value, UINT64_MAX, &member->mistakes);
    }
}

/* ---- all members ---- */

static void ask_member(struct status *status, struct status_member *member, struct ask *ask)
{
    struct cv_text reply, lock;
    uint64_t left = UINT64_MAX;
    if (!ask_command(ask, "VIEW", ANSWER_MS, &reply))
        return;
    member->answers = true;
    member->epoch = ask_number(ask_value(reply, "epoch"));
    member->lease_ms = ask_number(ask_value(reply, "lease_ms"));
    member->coordinator = ask_number(ask_value(reply, "coordinator"));
    const int64_t grace_ms = ask_number(ask_value(reply, "grace_ms"));
    status->grace_ms = grace_ms > status->grace_ms ? grace_ms : status->grace_ms;
    if (ask_command(ask, "LOCKS LOCAL", ANSWER_MS, &reply))
        while (ask_each(&reply, &left, &lock) && add_lock(status, lock))
            continue;
    if (ask_command(ask, "INFO", ANSWER_MS, &reply))
        read_info(status, member, ask_text(reply));
}

bool status_gather(struct status *status, const char *servers)
{
    struct ask first, other;
    struct cv_text view;
    *status = (struct status){0};
    if (!ask_open_any(&first, servers, ANSWER_MS)) {
        snprintf(status->refusal, sizeof status->refusal, "no node answers%s%s", *first.why ? ": " : "", first.why);
        return false;
    }
    bool told = ask_command(&first, "VIEW", ANSWER_MS, &view);
    if (told && *view.start == CV_RESP_ERROR) {
        copy(status->refusal, sizeof status->refusal, ask_text(view));
        told = false;
    }
    if (told)
        read_view(status, view);
    for (uint32_t i = 0; told && i < status->member_count; i++) {
        struct status_member *member = &status->members[i];
        if (strcmp(member->state, "self") == 0) {
            ask_member(status, member, &first);
        } else if (strcmp(member->state, "alive") == 0 && ask_open(&other, member->address, ANSWER_MS)) {
            ask_member(status, member, &other);
            ask_close(&other);
        }
    }
    ask_close(&first);
    merge_locks(status);
    return told;
}

void status_free(struct status *status)
{
    for (size_t i = 0; i < status->lock_count; i++)
        free(status->locks[i].name);
    free(status->locks);
    free(status->kinds);
    *status = (struct status){0};
}
