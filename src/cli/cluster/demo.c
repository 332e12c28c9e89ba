// SPDX-License-Identifier: MIT
/* Five node processes elect a leader, lose it, elect another, and let five clients in one at a time. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "algorithm/registry.h"
#include "cli/cluster/cluster_run.h"
#include "cli/cluster/node_algorithm.h"
#include "cli/cluster/status_gather.h"
#include "cli/command.h"
#include "core/formula/theory.h"
#include "core/formula/theory_symbols.h"
#include "core/parse.h"
#include "core/scenario/plan.h"
#include "core/wall_clock.h"

#define NODES 5
#define HOLD_NS 5000000L
#define PATIENCE_MS 10000
#define POLL_MS 5

#define MOST_OWN 8u

/* maekawa-plain is left out: five at once may well deadlock, as its scenario shows. */
static const char *const names[] = {"central", "central-deny", "token-ring", "ricart-agrawala",
                                    "lamport", "maekawa",      "voting"};
#define BUILT_IN (sizeof names / sizeof *names)

/* The algorithms that are tried, each with a lock of its name. */
struct request {
    const struct cv_algorithm *algorithms[BUILT_IN + MOST_OWN];
    char *rules[BUILT_IN + MOST_OWN]; /* of the cluster */
    size_t count;
    bool stays;
};

static int add(struct request *request, const struct cv_algorithm *algorithm, const char *path)
{
    char *rule = NULL;
    if (asprintf(&rule, "%s=%s", algorithm->name, path) < 0)
        return CV_ENOMEM;
    request->algorithms[request->count] = algorithm;
    request->rules[request->count++] = rule;
    return 0;
}

static int add_names(struct request *request)
{
    int error = 0;
    for (size_t i = 0; i < BUILT_IN && !error; i++)
        error = add(request, cv_algorithm_find(names[i]), names[i]);
    return error;
}

static int take_own(void *context, const char *value, struct cv_complaint *complaint)
{
    struct request *request = context;
    const struct cv_algorithm *algorithm;
    char *path;
    if (!strchr(value, '/'))
        return cv_complain(complaint, "--with %s: expected a path with a slash, as in ./FILE.so", cv_brief(value).text);
    if (request->count == BUILT_IN + MOST_OWN)
        return cv_complain(complaint, "--with %s: expected at most %u of them", cv_brief(value).text, MOST_OWN);
    int error = node_algorithm_take("--with", value, CV_MUTEX, &path, &algorithm, complaint);
    for (size_t i = 0; i < request->count && !error; i++)
        if (strcmp(request->algorithms[i]->name, algorithm->name) == 0)
            error = cv_complain(complaint, "--with %s: %s is there already; expected another name",
                                cv_brief(value).text, algorithm->name);
    if (!error)
        error = add(request, algorithm, path);
    free(path);
    return error;
}

/* ---- the leader ---- */

static int start(struct cluster *cluster)
{
    struct cv_complaint complaint;
    const double begun = (1e3 * cv_wall_seconds());
    const int error = cluster_start(cluster, &complaint);
    if (error)
        return command_fail(error, &complaint);
    const int leader = cluster_await(cluster, PATIENCE_MS);
    if (leader < 0)
        return command_refuse("%s", cluster_last_words(cluster).text);
    printf(
        "Five processes, ids 1 to 5, elect with the bully algorithm: node %d leads, %.0f ms after they were started.\n",
        leader + 1, (1e3 * cv_wall_seconds()) - begun);
    return EXIT_HELD;
}

static int lose_leader(struct cluster *cluster)
{
    struct cv_complaint complaint;
    const int leader = cluster_await(cluster, PATIENCE_MS);
    const double begun = (1e3 * cv_wall_seconds());
    kill(cluster->pids[leader], SIGKILL);
    waitpid(cluster->pids[leader], NULL, 0);
    cluster->pids[leader] = 0;
    const int next = cluster_await(cluster, PATIENCE_MS);
    if (next < 0)
        return command_refuse("%s", cluster_last_words(cluster).text);
    printf("Node %d is killed (SIGKILL): node %d leads %.0f ms later.\n", leader + 1, next + 1,
           (1e3 * cv_wall_seconds()) - begun);
    const double again = (1e3 * cv_wall_seconds());
    const int error = cluster_start_node(cluster, (uint32_t)leader, &complaint);
    if (error)
        return command_fail(error, &complaint);
    int back = cluster_await(cluster, PATIENCE_MS);
    while (back >= 0 && back != leader && (1e3 * cv_wall_seconds()) - again < PATIENCE_MS) {
        poll(NULL, 0, POLL_MS);
        back = cluster_await(cluster, PATIENCE_MS);
    }
    if (back != leader)
        return command_refuse("%s", cluster_last_words(cluster).text);
    printf(
        "Node %d is started again: it leads %.0f ms later, the biggest one alive, when it has stayed for a while.\n\n",
        leader + 1, (1e3 * cv_wall_seconds()) - again);
    return EXIT_HELD;
}

/* ---- the lock ---- */

/* What one process saw. */
struct visit {
    uint32_t node;
    int64_t fence;
    double entered, left;
};

/* Runs in a process of its own: enters, stays a moment, leaves. */
static int visit(const struct cluster *cluster, uint32_t node, const char *name, struct visit *visit_of)
{
    struct ask ask;
    struct cv_text reply;
    char line[128];
    if (!ask_open(&ask, cluster->sockets[node], PATIENCE_MS))
        return 1;
    snprintf(line, sizeof line, "LOCK %s WAIT %d", name, PATIENCE_MS);
    if (!ask_command(&ask, line, 2 * PATIENCE_MS, &reply) || (visit_of->fence = ask_number(reply)) <= 0)
        return 1;
    visit_of->node = node;
    visit_of->entered = (1e3 * cv_wall_seconds());
    nanosleep(&(struct timespec){0, HOLD_NS}, NULL);
    visit_of->left = (1e3 * cv_wall_seconds());
    snprintf(line, sizeof line, "UNLOCK %s %lld", name, (long long)visit_of->fence);
    const bool released = ask_command(&ask, line, PATIENCE_MS, &reply) && ask_number(reply) == 1;
    ask_close(&ask);
    return released ? 0 : 1;
}

static int by_entering(const void *left, const void *right)
{
    const struct visit *x = left, *y = right;
    return (x->entered > y->entered) - (x->entered < y->entered);
}

/* Starts all clients at once; returns how many entered. */
static uint32_t visit_all(const struct cluster *cluster, const char *name, struct visit *visits)
{
    int ends[2];
    uint32_t count = 0;
    if (pipe(ends))
        return 0;
    for (uint32_t node = 0; node < NODES; node++)
        if (fork() == 0) {
            struct visit mine;
            const int code = visit(cluster, node, name, &mine);
            _exit(code || write(ends[1], &mine, sizeof mine) != sizeof mine);
        }
    close(ends[1]);
    while (count < NODES && read(ends[0], &visits[count], sizeof *visits) == sizeof *visits)
        count++;
    close(ends[0]);
    for (uint32_t node = 0; node < NODES; node++)
        wait(NULL);
    qsort(visits, count, sizeof *visits, by_entering);
    return count;
}

/* The messages of that algorithm so far, summed over all nodes. */
static uint64_t messages_of(const struct cluster *cluster, const char *name)
{
    struct status status;
    uint64_t total = 0;
    const size_t length = strlen(name);
    if (!status_gather(&status, cluster->sockets[0]))
        return 0;
    for (size_t i = 0; i < status.kind_count; i++)
        if (strncmp(status.kinds[i].name, name, length) == 0 && status.kinds[i].name[length] == '/')
            total += status.kinds[i].sent;
    status_free(&status);
    return total;
}

/* Prints the texts' formula for one entry of each node, its source, and whether the messages meet it. */
static void show_theory(const struct cv_algorithm *algorithm, uint64_t messages)
{
    struct cv_plan plan = {.algorithm = algorithm, .nodes = "5", .entries = "1", .seed = 1};
    struct cv_scenario scenario = {0};
    struct cv_expectation expected = {0};
    struct cv_complaint complaint;
    if (cv_plan_build(&plan, &scenario, &complaint) == 0 &&
        cv_theory_expect(&scenario, 0, CV_MESSAGES, &expected, &complaint) == 0 && expected.cost)
        printf("%s: %s%s = %.10g%s", cv_source_phrase(expected.cost), expected.cost->exact ? "" : "at most ",
               expected.cost->formula, expected.value,
               expected.cost->exact                 ? (double)messages == expected.value ? " ✓" : ", not met"
               : (double)messages <= expected.value ? " ✓"
                                                    : ", not met");
    else if (algorithm->costs && algorithm->costs[0].label)
        printf("%s: from %s an entry (%s), here %.3g", cv_source_phrase(&algorithm->costs[0]),
               algorithm->costs[0].formula, algorithm->costs[0].label, (double)messages / NODES);
    cv_scenario_free(&scenario);
    cv_plan_free(&plan);
}

/* False if two clients were inside at once, or one never entered. */
static bool show_visits(const struct cv_algorithm *algorithm, const struct visit *visits, uint32_t count,
                        uint64_t messages)
{
    bool good = count == NODES;
    printf("  %-16s ", algorithm->name);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s%u", i ? " " : "", visits[i].node + 1);
        if (i && (visits[i].entered < visits[i - 1].left || visits[i].fence <= visits[i - 1].fence))
            good = false;
    }
    printf("   %6.1f ms   %3llu messages; ", count ? visits[count - 1].left - visits[0].entered : 0,
           (unsigned long long)messages);
    show_theory(algorithm, messages);
    printf("%s\n", good ? "" : "   NOT ONE AT A TIME");
    fflush(stdout);
    return good;
}

static int take_turns(const struct cluster *cluster, const struct request *request)
{
    bool good = true;
    printf(
        "Five other processes want the same lock at once, each from another node and for 5 ms. Who entered, in order;\n"
        "how long that took; the messages of all five entries beside the formula (n = 5, e = 5):\n");
    for (size_t i = 0; i < request->count && !command_interrupted; i++) {
        struct visit visits[NODES];
        const char *name = request->algorithms[i]->name;
        const uint64_t before = messages_of(cluster, name);
        const uint32_t count = visit_all(cluster, name, visits);
        const uint64_t after = messages_of(cluster, name);
        good &= show_visits(request->algorithms[i], visits, count, after - before);
    }
    printf("One at a time, and every fence higher than the one before: %s\n\n", good ? "held" : "violated");
    return good ? EXIT_HELD : EXIT_VIOLATED;
}

/* ---- the whole ---- */

static void show_more(const struct cluster *cluster, bool stays)
{
    printf("Try next:\n"
           "  conclave cluster 3 &                     three nodes on ports 7700 to 7702\n"
           "  conclave lock build -- make              a command under a lock\n"
           "  conclave elect boss -- ./daemon          a command while this process leads\n"
           "  conclave status --watch                  who is there, who holds what\n"
           "  redis-cli -p 7700                        any client of Redis will do: LOCK name\n"
           "  conclave scenario split-brain            what the texts warn of\n"
           "  conclave explore                         the same, step by step in the browser\n");
    if (stays)
        printf("\nThe five nodes stay up until Ctrl-C: conclave status --server %s --watch\n", cluster->sockets[0]);
    fflush(stdout);
}

static int run(struct cluster *cluster, const struct request *request)
{
    int code = start(cluster);
    if (code == EXIT_HELD)
        code = lose_leader(cluster);
    if (code == EXIT_HELD)
        code = take_turns(cluster, request);
    if (code == EXIT_HELD)
        show_more(cluster, request->stays);
    while (code == EXIT_HELD && request->stays && !command_interrupted)
        pause();
    cluster_stop(cluster);
    return code;
}

static const struct option_row rows[] = {
    {"stay", NULL, OPTION_SWITCH, offsetof(struct request, stays),
     .help = "keep the cluster running until INT, to try it out"},
    {"with", "FILE.so", OPTION_TAKE, 0, .help = "an algorithm of your own for mutual exclusion, too; repeatable",
     .take = take_own, .repeats = true},
    {0},
};

const struct options demo_options = {
    .name = "demo",
    .usage = "[OPTION...]",
    .about =
        "Starts five node processes on this machine, lets them elect a leader, kills it, and takes a lock from five "
        "processes at once under each algorithm for mutual exclusion. Takes a few seconds.",
    .rows = rows,
    .no_words = true,
    .lenient = true,
};

static int run_in_directory(const struct request *request)
{
    const char *rules[BUILT_IN + MOST_OWN + 1] = {NULL};
    struct cluster cluster = {.count = NODES, .rules = rules};
    char *directory = cluster_make_directory();
    if (!directory)
        return command_refuse("no temporary directory can be made; see TMPDIR");
    for (size_t i = 0; i < request->count; i++)
        rules[i] = request->rules[i];
    cluster.directory = directory;
    command_catch_signals();
    const int code = run(&cluster, request);
    cluster_remove(directory);
    free(directory);
    return code;
}

int command_demo(int argc, char **argv)
{
    struct request request = {.count = 0};
    int code = add_names(&request) ? command_fail(CV_ENOMEM, NULL) : EXIT_HELD;
    if (code == EXIT_HELD && options_take(&demo_options, argc, argv, &request, &code))
        code = run_in_directory(&request);
    for (size_t i = 0; i < request.count; i++)
        free(request.rules[i]);
    return code;
}
