// SPDX-License-Identifier: MIT
#include "cli/cluster/cluster_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/cluster/node_algorithm.h"
#include "cli/command.h"
#include "core/parse.h"

#define READY_MS 15000
#define MOST_WORDS 64

struct request {
    struct cluster cluster;
    const char *rules[MOST_WORDS + 1], *settings[MOST_WORDS + 1];
    char *made[2 * MOST_WORDS + 1]; /* words of these, to be freed */
    uint32_t rule_count, setting_count, made_count;
    bool restarts;
};

/* ---- options ---- */

static const char *keep(struct request *request, char *made)
{
    return request->made[request->made_count++] = made;
}

static int take_rule(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    const char *equals = strrchr(text, '='), *name = equals ? equals + 1 : text;
    const struct cv_algorithm *algorithm;
    char *rule = NULL, *path;
    if (request->rule_count == MOST_WORDS)
        return cv_complain(complaint, "--algorithm %s: expected at most %d of them", cv_brief(text).text, MOST_WORDS);
    const int error = node_algorithm_take("--algorithm", name, CV_MUTEX, &path, &algorithm, complaint);
    if (error)
        return error;
    if (asprintf(&rule, "%.*s=%s", equals ? (int)(equals - text) : 1, equals ? text : "*", path ? path : name) < 0)
        rule = NULL;
    free(path);
    request->rules[request->rule_count] = keep(request, rule);
    return request->rules[request->rule_count++] ? 0 : CV_ENOMEM;
}

/* The nodes read it in files that stand elsewhere. */
static bool is_relative_plugin(const char *text, const char *equals)
{
    const struct cv_text target = {text, (size_t)(equals - text)};
    const bool algorithm =
        cv_text_is(target, "group.election") || (target.length > 10 && strncmp(equals - 10, ".algorithm", 10) == 0);
    return algorithm && equals[1] != '/' && strchr(equals, '/');
}

static int take_setting(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    if (!equals || !dot || dot > equals || request->setting_count == MOST_WORDS)
        return cv_complain(complaint, "--set %s: expected SECTION.KEY=VALUE", cv_brief(text).text);
    if (!is_relative_plugin(text, equals)) {
        request->settings[request->setting_count++] = text;
        return 0;
    }
    char *path = node_algorithm_path(equals + 1), *setting = NULL;
    if (path && asprintf(&setting, "%.*s=%s", (int)(equals - text), text, path) < 0)
        setting = NULL;
    free(path);
    request->settings[request->setting_count++] = keep(request, setting);
    return setting ? 0 : CV_ENOMEM;
}

static int take_port(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    if (cv_parse_number(cv_text(text), 65535 - CV_MAX_MEMBERS, &request->cluster.port))
        return 0;
    return cv_complain(complaint, "--port %s: expected 0, or a port up to %u", cv_brief(text).text,
                       65535 - CV_MAX_MEMBERS);
}

static int take_http(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    if (cv_parse_number(cv_text(text), 65535 - CV_MAX_MEMBERS, &request->cluster.http) && request->cluster.http)
        return 0;
    return cv_complain(complaint, "--http %s: expected a port, 1 to %u", cv_brief(text).text, 65535 - CV_MAX_MEMBERS);
}

static int take_group(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    request->cluster.group = text;
    if (strcmp(text, "raft") == 0 || strcmp(text, "static") == 0)
        return 0;
    return cv_complain(complaint, "--group %s: expected raft or static", cv_brief(text).text);
}

static int take_election(void *context, const char *text, struct cv_complaint *complaint)
{
    struct request *request = context;
    const struct cv_algorithm *algorithm;
    char *path;
    const int error = node_algorithm_take("--election", text, CV_ELECTION, &path, &algorithm, complaint);
    request->cluster.election = path ? keep(request, path) : text;
    return error;
}

#define FIELD(member) offsetof(struct request, member)

static const struct option_row rows[] = {
    {"port", "P", OPTION_TAKE, 0, .help = "the first node's port for clients (7700); 0: sockets alone",
     .take = take_port},
    {"http", "P", OPTION_TAKE, 0, .help = "the port of the first node's page, for a browser (no pages)",
     .take = take_http},
    {"dir", "DIR", OPTION_TEXT, FIELD(cluster.directory),
     .help = "the directory for configurations, sockets and logs (a temporary one)"},
    {"algorithm", "A", OPTION_TAKE, 0,
     .help = "the algorithm for mutual exclusion, a name or ./FILE.so; PATTERN=A: for names that match; repeatable "
             "(central)",
     .take = take_rule, .repeats = true},
    {"group", "raft|static", OPTION_TAKE, 0, .help = "how the nodes agree on the members: see conclave-node(1) (raft)",
     .take = take_group},
    {"election", "E", OPTION_TAKE, 0, .help = "the algorithm that elects the coordinator, a name or ./FILE.so (bully)",
     .take = take_election},
    {"set", "SECTION.KEY=VALUE", OPTION_TAKE, 0, .help = "a setting of all nodes; repeatable", .take = take_setting,
     .repeats = true},
    {"record", "DIR", OPTION_TEXT, FIELD(cluster.record),
     .help = "each node records all events as DIR/node<i>.jsonl, for conclave judge"},
    {"restart", NULL, OPTION_SWITCH, FIELD(restarts), .help = "restart a node that dies"},
    {0},
};

const struct options cluster_options = {
    .name = "cluster",
    .usage = "N [OPTION...]",
    .about = "Starts N node processes on this machine, to try things out, and runs until INT or TERM. "
             "Clients of node i connect to port P+i-1 or to DIR/node<i>.sock.",
    .rows = rows,
    .lenient = true,
};

/* False: the command ends with *code. */
static bool read_options(struct request *request, int argc, char **argv, int *code)
{
    uint64_t count;
    const int next = options_take(&cluster_options, argc, argv, request, code);
    if (!next)
        return false;
    if (argc - next != 1) {
        *code = command_refuse("%s: expected the number of nodes; see conclave cluster --help",
                               next < argc ? argv[next + 1] : "cluster");
        return false;
    }
    if (!cv_parse_number(cv_text(argv[next]), CV_MAX_MEMBERS, &count) || !count) {
        *code = command_refuse("%s: expected a number of nodes, 1 to %u", cv_brief(argv[next]).text, CV_MAX_MEMBERS);
        return false;
    }
    request->cluster.count = (uint32_t)count;
    request->cluster.rules = request->rules;
    request->cluster.settings = request->settings;
    *code = EXIT_HELD;
    return true;
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

/* A node has ended without being asked. */
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
    if (cluster->http)
        printf("pages at http://127.0.0.1:%llu/..%llu\n", (unsigned long long)cluster->http,
               (unsigned long long)cluster->http + cluster->count - 1);
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
    int code;
    const bool runs = read_options(&request, argc, argv, &code);
    if (runs && !request.cluster.directory) {
        request.cluster.directory = temporary = cluster_make_directory();
        if (!temporary)
            code = command_refuse("no temporary directory can be made; give one with --dir");
    }
    if (runs && code == EXIT_HELD)
        code = make_directories(&request.cluster);
    if (runs && code == EXIT_HELD) {
        command_catch_signals();
        code = supervise(&request);
    }
    if (temporary)
        cluster_remove(temporary);
    free(temporary);
    for (uint32_t i = 0; i < request.made_count; i++)
        free(request.made[i]);
    return code;
}
