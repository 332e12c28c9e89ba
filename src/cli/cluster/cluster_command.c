// SPDX-License-Identifier: MIT
#include "cli/cluster/cluster_command.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/options.h"
#include "core/parse.h"

#define READY_MS 15000
#define MOST_WORDS 64

static const char help[] =
    "usage: conclave cluster N [OPTION...]\n\n"
    "Starts N node processes on this machine and runs until INT or TERM: for trying things out. Clients of node i\n"
    "connect to port P+i-1 or to DIR/node<i>.sock.\n\n"
    "  --port P                the first node's port for clients (7700); 0: sockets alone\n"
    "  --dir DIR               for configurations, sockets and logs (a temporary one)\n"
    "  --algorithm A           mutual exclusion by this algorithm; PATTERN=A: of names like that; may be repeated "
    "(central)\n"
    "  --group raft|static     how the nodes agree on who is there: see conclave-node(1) (raft)\n"
    "  --election E            the coordinator is elected by this algorithm (bully)\n"
    "  --set SECTION.KEY=VALUE a setting of all nodes; may be repeated\n"
    "  --record DIR            each node writes down what happens, as DIR/node<i>.jsonl, for conclave judge\n"
    "  --restart               starts a node that dies again\n"
    "  --help                  this page\n";

struct request {
    struct cluster cluster;
    const char *rules[MOST_WORDS + 1], *settings[MOST_WORDS + 1];
    char *made[MOST_WORDS]; /* rules to be freed */
    uint32_t rule_count, setting_count, made_count;
    bool restarts;
};

/* ---- options ---- */

static int add_rule(struct request *request, const char *text)
{
    const char *equals = strrchr(text, '='), *name = equals ? equals + 1 : text;
    const struct cv_algorithm *algorithm = cv_algorithm_find(name);
    if (!algorithm || algorithm->problem != CV_MUTEX)
        return command_refuse("--algorithm %s: expected a mutual exclusion algorithm; see conclave list",
                              cv_brief(text).text);
    if (request->rule_count == MOST_WORDS)
        return command_refuse("--algorithm %s: expected at most %d of them", cv_brief(text).text, MOST_WORDS);
    char *rule = NULL;
    if (asprintf(&rule, "%s%s", equals ? "" : "*=", text) < 0)
        return command_fail(CV_ENOMEM, NULL);
    request->made[request->made_count++] = rule;
    request->rules[request->rule_count++] = rule;
    return EXIT_HELD;
}

static int add_setting(struct request *request, const char *text)
{
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    if (!equals || !dot || dot > equals || request->setting_count == MOST_WORDS)
        return command_refuse("--set %s: expected SECTION.KEY=VALUE", cv_brief(text).text);
    request->settings[request->setting_count++] = text;
    return EXIT_HELD;
}

static int set_port(struct request *request, const char *text)
{
    if (cv_parse_number(cv_text(text), 65535 - CV_MAX_MEMBERS, &request->cluster.port))
        return EXIT_HELD;
    return command_refuse("--port %s: expected 0, or a port up to %u", cv_brief(text).text, 65535 - CV_MAX_MEMBERS);
}

static int set_group(struct request *request, const char *text)
{
    request->cluster.group = text;
    if (strcmp(text, "raft") == 0 || strcmp(text, "static") == 0)
        return EXIT_HELD;
    return command_refuse("--group %s: expected raft or static", cv_brief(text).text);
}

static int set_election(struct request *request, const char *text)
{
    const struct cv_algorithm *algorithm = cv_algorithm_find(text);
    if (!algorithm || algorithm->problem != CV_ELECTION)
        return command_refuse("--election %s: expected an election algorithm; see conclave list", cv_brief(text).text);
    request->cluster.election = text;
    return EXIT_HELD;
}

enum choice { PORT = 256, DIRECTORY, GROUP, ALGORITHM, ELECTION, SET, RECORD, RESTART, HELP };

static const struct option options[] = {
    {"port", required_argument, NULL, PORT},
    {"dir", required_argument, NULL, DIRECTORY},
    {"group", required_argument, NULL, GROUP},
    {"algorithm", required_argument, NULL, ALGORITHM},
    {"election", required_argument, NULL, ELECTION},
    {"set", required_argument, NULL, SET},
    {"record", required_argument, NULL, RECORD},
    {"restart", no_argument, NULL, RESTART},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(struct request *request, int option)
{
    switch (option) {
    case PORT:
        return set_port(request, optarg);
    case DIRECTORY:
        request->cluster.directory = optarg;
        return EXIT_HELD;
    case ALGORITHM:
        return add_rule(request, optarg);
    case GROUP:
        return set_group(request, optarg);
    case ELECTION:
        return set_election(request, optarg);
    case SET:
        return add_setting(request, optarg);
    case RECORD:
        request->cluster.record = optarg;
        return EXIT_HELD;
    default:
        request->restarts = true;
        return EXIT_HELD;
    }
}

/* -1: help was asked for. */
static int read_options(struct request *request, int argc, char **argv)
{
    uint64_t count;
    int code = EXIT_HELD;
    optind = 1;
    opterr = 0;
    for (int option; code == EXIT_HELD && (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        if (option == HELP) {
            fputs(help, stdout);
            return -1;
        }
        if (option == ':' || option == '?')
            return command_refuse("%s: %s; see conclave cluster --help", argv[optind - 1],
                                  options_wrong(options, option, argv[optind - 1]).text);
        code = take_option(request, option);
    }
    if (code != EXIT_HELD)
        return code;
    if (argc - optind != 1)
        return command_refuse("%s: expected the number of nodes; see conclave cluster --help",
                              optind < argc ? argv[optind + 1] : "cluster");
    if (!cv_parse_number(cv_text(argv[optind]), CV_MAX_MEMBERS, &count) || !count)
        return command_refuse("%s: expected a number of nodes, 1 to %u", cv_brief(argv[optind]).text, CV_MAX_MEMBERS);
    request->cluster.count = (uint32_t)count;
    request->cluster.rules = request->rules;
    request->cluster.settings = request->settings;
    return EXIT_HELD;
}

/* ---- running ---- */

static int make_directories(const struct cluster *cluster)
{
    const char *const wanted[] = {cluster->directory, cluster->record};
    for (int i = 0; i < 2; i++)
        if (wanted[i] && mkdir(wanted[i], 0777) && errno != EEXIST)
            return command_refuse("%s %s: %s", i ? "--record" : "--dir", cv_brief(wanted[i]).text, strerror(errno));
    return EXIT_HELD;
}

/* A node has ended, though nobody asked it to. */
static void tell_death(struct request *request, pid_t child, int status)
{
    struct cluster *cluster = &request->cluster;
    struct cv_complaint complaint;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->pids[i] != child)
            continue;
        cluster->pids[i] = 0;
        if (WIFSIGNALED(status))
            printf("node %u died by signal %d%s\n", i + 1, WTERMSIG(status), request->restarts ? ", starts again" : "");
        else
            printf("node %u ended with status %d%s; see %s/node%u.log\n", i + 1, WEXITSTATUS(status),
                   request->restarts ? ", starts again" : "", cluster->directory, i + 1);
        fflush(stdout);
        if (request->restarts && cluster_start_node(cluster, i, &complaint))
            command_refuse("%s", complaint.text);
    }
}

static bool anybody_left(const struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        if (cluster->pids[i] > 0)
            return true;
    return false;
}

static void say_ready(const struct cluster *cluster, int coordinator)
{
    printf("cluster of %u ready, node %d coordinates; clients at ", cluster->count, coordinator + 1);
    if (cluster->port)
        printf("127.0.0.1:%llu..%llu and ", (unsigned long long)cluster->port,
               (unsigned long long)cluster->port + cluster->count - 1);
    printf("%s/node1.sock..\n", cluster->directory);
    fflush(stdout);
}

static int supervise(struct request *request)
{
    struct cluster *cluster = &request->cluster;
    struct cv_complaint complaint;
    const int error = cluster_start(cluster, &complaint);
    const int coordinator = error ? -1 : cluster_await(cluster, READY_MS);
    int code = error ? command_fail(error, &complaint) : EXIT_HELD;
    if (!error && coordinator < 0 && !command_interrupted)
        code = command_refuse("%s", cluster_last_words(cluster).text);
    if (coordinator >= 0)
        say_ready(cluster, coordinator);
    while (coordinator >= 0 && !command_interrupted && anybody_left(cluster)) {
        int status;
        const pid_t child = waitpid(-1, &status, WNOHANG);
        if (child > 0)
            tell_death(request, child, status);
        else
            nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    if (coordinator >= 0 && !command_interrupted)
        code = command_refuse("no node is left");
    cluster_stop(cluster);
    return code;
}

int command_cluster(int argc, char **argv)
{
    struct request request = {.cluster.port = 7700};
    char *temporary = NULL;
    int code = read_options(&request, argc, argv);
    if (code == EXIT_HELD && !request.cluster.directory) {
        request.cluster.directory = temporary = cluster_make_directory();
        if (!temporary)
            code = command_refuse("no temporary directory can be made; give one with --dir");
    }
    if (code == EXIT_HELD)
        code = make_directories(&request.cluster);
    if (code == EXIT_HELD) {
        command_catch_signals();
        code = supervise(&request);
    }
    if (temporary)
        cluster_remove(temporary);
    free(temporary);
    for (uint32_t i = 0; i < request.made_count; i++)
        free(request.made[i]);
    return code < 0 ? EXIT_HELD : code;
}
