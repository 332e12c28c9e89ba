// SPDX-License-Identifier: MIT
#include "cli/cluster/status_gather.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "show/json.h"

#define MOST_LOCKS_SHOWN 40u

struct request {
    struct conclave_options server;
    bool watch, json;
};

static const struct option_row rows[] = {
    {"watch", NULL, OPTION_SWITCH, offsetof(struct request, watch), .help = "repeat every second, until INT"},
    {"json", NULL, OPTION_SWITCH, offsetof(struct request, json), .help = "print JSON"},
    ASK_SERVER_ROWS(struct request, server),
    {0},
};

const struct options status_options = {
    .name = "status",
    .usage = "[OPTION...]",
    .about = "Shows a cluster: its members, suspicions and coordinator, the locks and who waits for them, "
             "and the number of messages.",
    .rows = rows,
    .no_words = true,
    .lenient = true,
};

/* ---- for people ---- */

static void show_members(const struct status *status)
{
    const bool colour = command_colour();
    printf("%6s  %-10s %10s %8s %8s %9s  %s\n", "node", "state", "heard", "view", "clients", "mistakes", "address");
    for (uint32_t i = 0; i < status->member_count; i++) {
        const struct status_member *it = &status->members[i];
        const bool gone = strcmp(it->state, "suspected") == 0;
        char heard[32] = "-";
        if (it->last_heard_ms >= 0 && strcmp(it->state, "self") != 0)
            snprintf(heard, sizeof heard, "%lld ms", (long long)it->last_heard_ms);
        printf("%s%6lld  %-10s %10s ", colour && gone ? "\033[31m" : "", (long long)it->id, it->state, heard);
        if (it->answers)
            printf("%8lld %8llu %9llu", (long long)it->epoch, (unsigned long long)it->clients,
                   (unsigned long long)it->mistakes);
        else
            printf("%8s %8s %9s", "-", "-", "-");
        printf("  %s%s%s%s%s\n", it->address, *it->at ? ", reached at " : "", it->at,
               it->id == status->coordinator ? "  coordinates" : "", colour && gone ? "\033[0m" : "");
    }
}

/* For how long, in the largest unit that is not too rough. */
static const char *age(int64_t ms, char text[32])
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && ms < 2 * units[i].ms)
        i++;
    snprintf(text, 32, "%lld %s", (long long)(ms / units[i].ms), units[i].unit);
    return text;
}

static void show_locks(const struct status *status)
{
    uint64_t shown = 0;
    if (!status->lock_count)
        return;
    printf("\n%-32s %-9s %-16s %-10s %20s %8s %8s  client\n", "name", "kind", "algorithm", "holder", "fence", "waiting",
           "held");
    for (size_t i = 0; i < status->lock_count && shown < MOST_LOCKS_SHOWN; i++, shown++) {
        const struct status_lock *it = &status->locks[i];
        printf("%-32.32s %-9s %-16s %-10s ", it->name, it->kind, it->algorithm, *it->holder ? it->holder : "-");
        if (*it->holder)
            printf("%20lld", (long long)it->fence);
        else
            printf("%20s", "-");
        char held[32];
        printf(" %8llu %8s  %s", (unsigned long long)it->waiters, *it->holder ? age(it->held_ms, held) : "-",
               *it->client ? it->client : "-");
        if (it->forced)
            printf("  forced to end");
        else if (it->asked_back_ms >= 0 && *it->holder)
            printf("  asked back");
        if (it->shared)
            printf("  shared by %llu", (unsigned long long)it->shared);
        printf("\n");
    }
    if (status->lock_count > shown)
        printf("and %zu more\n", status->lock_count - (size_t)shown);
}

static void show_messages(const struct status *status)
{
    uint64_t total = 0;
    for (size_t i = 0; i < status->kind_count; i++)
        total += status->kinds[i].sent;
    printf("\n%llu messages", (unsigned long long)total);
    for (size_t i = 0, told = 0; i < status->kind_count; i++)
        if (status->kinds[i].sent)
            printf("%s%s %llu", told++ ? ", " : ": ", status->kinds[i].name, (unsigned long long)status->kinds[i].sent);
    printf("\n");
}

static void show_raft(const struct status *status)
{
    if (strcmp(status->mode, "tie") == 0)
        printf("group of two with a tie-breaker\n");
    else if (status->raft_leader >= 0)
        printf("group raft: node %lld leads the log in term %lld\n", (long long)status->raft_leader,
               (long long)status->raft_term);
    else
        printf("group raft: no leader of the log is known\n");
    for (uint32_t i = 0; i < status->member_count; i++)
        if (status->members[i].answers && status->members[i].lease_ms == 0)
            printf("node %lld has no lease: it grants nothing\n", (long long)status->members[i].id);
}

static void show_pages(const struct status *status)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < status->member_count; i++)
        if (*status->members[i].page)
            printf("%snode %lld %s", shown++ ? ", " : "\nlive pages: ", (long long)status->members[i].id,
                   status->members[i].page);
    if (shown)
        printf("\n");
}

static void show_grace(const struct status *status)
{
    if (status->grace_ms <= 0)
        return;
    char until[COMMAND_CLOCK_BYTES];
    printf(
        "in the time of grace until %s (%.1f s more): clients that held a lock before all nodes forgot it get it back, "
        "new grants wait\n",
        command_clock_in(status->grace_ms, until), (double)status->grace_ms / 1000);
}

static void show(const struct status *status)
{
    if (status->coordinator >= 0)
        printf("view %lld, node %lld coordinates, elected by %s\n", (long long)status->epoch,
               (long long)status->coordinator, status->election);
    else
        printf("no view now: a coordinator is being elected by %s\n", status->election);
    if (strcmp(status->mode, "raft") == 0 || strcmp(status->mode, "tie") == 0)
        show_raft(status);
    show_grace(status);
    putchar('\n');
    show_members(status);
    show_locks(status);
    show_messages(status);
    show_pages(status);
}

/* ---- for programs ---- */

static void write_members(struct cv_json *json, const struct status *status)
{
    cv_json_open(json, "members", '[');
    for (uint32_t i = 0; i < status->member_count; i++) {
        const struct status_member *it = &status->members[i];
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "id", (uint64_t)it->id);
        cv_json_text(json, "address", it->address);
        if (*it->at)
            cv_json_text(json, "at", it->at);
        cv_json_text(json, "state", it->state);
        if (it->last_heard_ms >= 0)
            cv_json_count(json, "last_heard_ms", (uint64_t)it->last_heard_ms);
        else
            cv_json_null(json, "last_heard_ms");
        cv_json_truth(json, "answers", it->answers);
        cv_json_count(json, "epoch", it->answers ? (uint64_t)it->epoch : 0);
        if (it->lease_ms >= 0)
            cv_json_count(json, "lease_ms", (uint64_t)it->lease_ms);
        cv_json_count(json, "clients", it->clients);
        cv_json_count(json, "suspicions", it->suspicions);
        cv_json_count(json, "mistakes", it->mistakes);
        if (*it->page)
            cv_json_text(json, "page", it->page);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void write_locks(struct cv_json *json, const struct status *status)
{
    cv_json_open(json, "locks", '[');
    for (size_t i = 0; i < status->lock_count; i++) {
        const struct status_lock *it = &status->locks[i];
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", it->name);
        cv_json_text(json, "kind", it->kind);
        cv_json_text(json, "algorithm", it->algorithm);
        cv_json_text(json, "holder", *it->holder ? it->holder : NULL);
        if (*it->holder)
            cv_json_count(json, "fence", (uint64_t)it->fence);
        else
            cv_json_null(json, "fence");
        cv_json_count(json, "waiters", it->waiters);
        cv_json_count(json, "shared", it->shared);
        cv_json_text(json, "client", *it->client ? it->client : NULL);
        if (*it->holder)
            cv_json_count(json, "held_ms", (uint64_t)it->held_ms);
        else
            cv_json_null(json, "held_ms");
        if (it->asked_back_ms >= 0)
            cv_json_count(json, "asked_back_ms", (uint64_t)it->asked_back_ms);
        else
            cv_json_null(json, "asked_back_ms");
        cv_json_truth(json, "forced", it->forced);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void write_json(const struct status *status)
{
    struct cv_json json = {.out = stdout};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_count(&json, "epoch", status->epoch > 0 ? (uint64_t)status->epoch : 0);
    if (status->coordinator >= 0)
        cv_json_count(&json, "coordinator", (uint64_t)status->coordinator);
    else
        cv_json_null(&json, "coordinator");
    cv_json_text(&json, "election", status->election);
    cv_json_text(&json, "mode", status->mode);
    if (status->raft_leader >= 0) {
        cv_json_count(&json, "raft_leader", (uint64_t)status->raft_leader);
        cv_json_count(&json, "raft_term", (uint64_t)status->raft_term);
    }
    if (status->grace_ms > 0)
        cv_json_count(&json, "grace_ms", (uint64_t)status->grace_ms);
    write_members(&json, status);
    write_locks(&json, status);
    cv_json_open(&json, "messages", '{');
    for (size_t i = 0; i < status->kind_count; i++)
        cv_json_count(&json, status->kinds[i].name, status->kinds[i].sent);
    cv_json_close(&json, '}');
    cv_json_close(&json, '}');
    putchar('\n');
}

int command_status(int argc, char **argv)
{
    struct request request = {0};
    struct cv_complaint complaint;
    int code;
    if (!options_take(&status_options, argc, argv, &request, &code))
        return code;
    request.server.servers = ask_servers(request.server.servers);
    const int error = ask_with(&request.server, &complaint);
    if (error)
        return command_fail(error, &complaint);
    if (request.watch)
        command_catch_signals();
    do {
        struct status status;
        if (!status_gather(&status, request.server.servers)) {
            code =
                command_refuse("%s: %s", request.server.servers, *status.refusal ? status.refusal : "no node answers");
        } else {
            code = EXIT_HELD;
            if (request.watch && !request.json && isatty(STDOUT_FILENO))
                fputs("\033[H\033[J", stdout);
            if (request.json)
                write_json(&status);
            else
                show(&status);
            if (request.watch && !request.json && !isatty(STDOUT_FILENO))
                putchar('\n');
            fflush(stdout);
        }
        status_free(&status);
        if (request.watch && !command_interrupted)
            nanosleep(&(struct timespec){1, 0}, NULL);
    } while (request.watch && !command_interrupted);
    return code;
}
