// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cluster/node_algorithm.h"
#include "cli/command.h"
#include "cli/record.h"
#include "live/net/path.h"
#include "live/net/pulse.h"
#include "live/process/supervisor.h"
#include "live/settings/settings.h"
#include "live/settings/settings_file.h"
#include "live/settings/settings_operations.h"
#include "service/health.h"
#include "service/http/http.h"

/* Files, listeners, two connections per member, 64 pages of /metrics, reserved places. */
#define OWN_DESCRIPTORS 256u

struct node {
    struct cv_settings settings;
    struct cv_settings *reread; /* what the last HUP read; NULL: there was none */
    int argc;
    char **argv;
    struct cv_member member;
    struct cv_service service;
    struct cv_http http;
    struct cv_pulse pulse;
    bool supervised;
    char priority[CV_PRIORITY_BYTES];
    char status[CV_HEALTH_BYTES]; /* what the service manager was told last */
    struct record record;
};

/* ---- options ---- */

/* What the options fill in. */
struct request {
    struct cv_settings *settings;
    const char *record;
};

static int take_config(void *request, const char *path, struct cv_complaint *complaint)
{
    return cv_settings_read(((struct request *)request)->settings, path, node_algorithm_find, complaint);
}

static int set_node(void *request, const char *key, const char *value, struct cv_complaint *complaint)
{
    return cv_settings_set(((struct request *)request)->settings, "node", key, value, node_algorithm_find, complaint);
}

static int take_listen(void *request, const char *address, struct cv_complaint *complaint)
{
    return set_node(request, "listen", address, complaint);
}

static int take_http(void *request, const char *address, struct cv_complaint *complaint)
{
    return set_node(request, "http", address, complaint);
}

static int take_log(void *request, const char *form, struct cv_complaint *complaint)
{
    return set_node(request, "log", form, complaint);
}

static int take_found(void *request, const char *value, struct cv_complaint *complaint)
{
    (void)value;
    (void)complaint;
    ((struct request *)request)->settings->founds = true;
    return 0;
}

static int take_setting(void *request, const char *text, struct cv_complaint *complaint)
{
    struct cv_text target, value, section, key;
    char names[3][256];
    if (!cv_text_split(cv_text(text), '=', &target, &value))
        return cv_complain(complaint, "--set %s: expected SECTION.KEY=VALUE", cv_brief(text).text);
    const char *dot = target.length ? memrchr(target.start, '.', target.length) : NULL;
    if (!dot)
        return cv_complain(complaint, "--set %s: expected SECTION.KEY=VALUE", cv_brief(text).text);
    section = (struct cv_text){target.start, (size_t)(dot - target.start)};
    key = (struct cv_text){dot + 1, target.length - section.length - 1};
    const struct cv_text parts[] = {section, key, value};
    for (int i = 0; i < 3; i++) {
        if (parts[i].length >= sizeof names[i])
            return cv_complain(complaint, "--set %s: too long", cv_brief(text).text);
        snprintf(names[i], sizeof names[i], "%.*s", (int)parts[i].length, parts[i].start);
    }
    return cv_settings_set(((struct request *)request)->settings, names[0], names[1], names[2], node_algorithm_find,
                           complaint);
}

static const struct option_row rows[] = {
    {"config", "FILE", OPTION_TAKE, 0, .help = "the configuration; see conclave-node(1)", .take = take_config},
    {"listen", "ADDRESS", OPTION_TAKE, 0,
     .help = "where clients connect: host:port or the path of a Unix socket; repeatable (127.0.0.1:7700)",
     .take = take_listen, .repeats = true},
    {"set", "SECTION.KEY=VALUE", OPTION_TAKE, 0, .help = "one setting, as in the configuration; repeatable",
     .take = take_setting, .repeats = true},
    {"http", "ADDRESS", OPTION_TAKE, 0, .help = "serve the node's page, /metrics and /healthz there",
     .take = take_http},
    {"log", "text|json", OPTION_TAKE, 0, .help = "log all events on standard error (only errors)", .take = take_log},
    {"found", NULL, OPTION_TAKE, 0, .help = "found the group without missing members, if a majority is there",
     .take = take_found},
    {"record", "FILE", OPTION_TEXT, offsetof(struct request, record), .help = "record all events, for conclave judge"},
    {0},
};

const struct options node_options = {
    .name = "node",
    .usage = "[OPTION...]",
    .about =
        "Serves locks and elections to clients that speak RESP, the protocol of Redis: alone, or as a member of the "
        "group that the configuration names. Runs until INT or TERM; HUP reads keys, certificates, ACLs and "
        "members again.",
    .rows = rows,
    .lenient = true,
};

enum { HELP_TOLD = 1 };

/* 0 to go on, HELP_TOLD after the help page, or an error with a complaint. */
static int read_options(struct cv_settings *settings, int argc, char **argv, const char **record,
                        struct cv_complaint *complaint)
{
    struct request request = {.settings = settings};
    cv_settings_init(settings, node_algorithm_find);
    const int next = options_read(&node_options, argc, argv, &request, complaint);
    if (next == OPTIONS_HELP) {
        options_help(&node_options, stdout);
        return HELP_TOLD;
    }
    if (next < 0)
        return next;
    if (next < argc)
        return cv_complain(complaint, "%s: expected no argument; see conclave node --help", cv_brief(argv[next]).text);
    *record = request.record;
    return cv_settings_finish(settings, node_algorithm_find, complaint);
}

/* ---- what the process may use ---- */

/*
 * Lowers the limit of clients to the descriptors that the system allows, less those that the node itself needs: for its
 * journal, members and strangers, /metrics, and the places reserved for operators. The node keeps at most half of them
 * for itself.
 */
static void share_descriptors(struct cv_settings *settings)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return;
    const uint64_t all = limit.rlim_cur, wanted = settings->most_sessions;
    if (settings->security.most_strangers > all / 8)
        settings->security.most_strangers = all / 8 + 1;
    uint64_t reserve = OWN_DESCRIPTORS + settings->security.most_strangers;
    reserve = reserve < all / 2 ? reserve : all / 2;
    if (wanted <= all - reserve)
        return;
    settings->most_sessions = all - reserve;
    if (settings->sessions_given)
        cv_log_say(CV_LOG_LIMITED, "[node] clients = %llu: %llu, since the process may open %llu files; see ulimit -n",
                   (unsigned long long)wanted, (unsigned long long)settings->most_sessions, (unsigned long long)all);
}

/*
 * The loop must not wait for memory. A large table gets pages of its own, so the kernel can move them without a copy
 * when the table grows. Small pieces of freed memory are not returned to the system.
 */
static void tune_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
}

/* Call this before threads start and before much memory is in use. */
static void take_priority(const struct cv_operations_settings *operations, struct node *node)
{
    if (!cv_priority_set(operations->priority, node->priority))
        cv_log_say(CV_LOG_PRIORITY, "[node] priority = realtime: not allowed here; it is %s", node->priority);
}

static void say_ready(const struct node *node)
{
    const struct cv_settings *settings = &node->settings;
    printf("node %u ready, clients at", settings->id);
    for (uint32_t i = 0; i < settings->listen_count; i++)
        printf("%s %s", i ? "," : "", settings->listen[i]);
    printf("\n");
    fflush(stdout);
    cv_log(CV_LOG_STARTED, {"version", .text = CONCLAVE_VERSION}, {"mode", .text = cv_member_mode(&node->member)},
           {"members", .number = settings->member_count}, {"listen", .text = settings->listen[0]},
           {"http", .text = settings->operations.http ? settings->operations.http : "off"},
           {"priority", .text = node->priority});
    cv_supervisor_tell("READY=1");
}

/* `systemctl status` shows in words what the node is doing. */
static void tell_supervisor(struct node *node)
{
    char status[CV_HEALTH_BYTES];
    if (cv_health(&node->service, status))
        snprintf(status, sizeof status, "serves in a view of %u members", cv_set_count(node->member.host.view.members));
    if (strcmp(status, node->status) != 0)
        cv_supervisor_tell("STATUS=%s", status);
    memcpy(node->status, status, sizeof status);
}

static void beat(void *context)
{
    struct node *node = context;
    record_mark(&node->record);
    if (node->supervised)
        tell_supervisor(node);
}

/* Without TLS others can read and change what goes over the network. The node says so once. */
static void warn(const struct node *node)
{
    const struct cv_peers *peers = &node->member.peers;
    for (uint32_t i = 0; i < node->service.listener_count; i++)
        if (node->service.listeners[i].exposed)
            cv_log_say(CV_LOG_EXPOSED, "clients at %s are neither encrypted nor authenticated",
                       node->settings.listen[i]);
    bool exposed = false;
    for (uint32_t i = 0; i < peers->listener_count; i++)
        exposed |= peers->listeners[i].exposed;
    if (exposed)
        cv_log_say(CV_LOG_EXPOSED, "members at %s are neither encrypted nor authenticated", node->settings.peers);
    if (node->http.listener.exposed)
        cv_log_say(CV_LOG_EXPOSED, "anyone can read /metrics and the names of locks at %s",
                   node->settings.operations.http);
}

/* The system calls of a process with one thread are faster: threads start only if names or files need them. */
static bool needs_threads(const struct cv_settings *settings)
{
    return settings->directory || settings->member_count > 1 || settings->joins;
}

/* HUP reads keys, certificates, ACLs and members again. Other settings need a restart. */
static void reload(void *context)
{
    struct node *node = context;
    const struct cv_settings *before = node->reread ? node->reread : &node->settings;
    struct cv_settings *fresh = calloc(1, sizeof *fresh);
    struct cv_complaint complaint;
    const char *record;
    if (!fresh)
        return;
    int error = read_options(fresh, node->argc, node->argv, &record, &complaint);
    if (!error)
        error = cv_member_check(&node->member, before, fresh, &complaint);
    if (!error)
        error = cv_security_reload(&node->member.security, &fresh->security, &complaint);
    if (error) {
        cv_log_say(CV_LOG_NOT_RELOADED, "HUP: %s; everything stays as it was",
                   error == CV_EINPUT || error == CV_EFILE ? complaint.text : cv_error_text(error));
        cv_settings_free(fresh);
        free(fresh);
        return;
    }
    cv_service_reconsider(&node->service);
    cv_http_reconsider(&node->http);
    cv_peers_reconsider(&node->member.peers);
    cv_member_reconfigure(&node->member, before, fresh);
    cv_log(CV_LOG_RELOADED, {"clients", .number = node->service.session_count});
    if (node->reread)
        cv_settings_free(node->reread);
    free(node->reread);
    node->reread = fresh;
}

static int begin_pulse(struct node *node)
{
    node->supervised = getenv("NOTIFY_SOCKET") != NULL;
    node->pulse.beat = node->supervised || node->record.file ? beat : NULL;
    node->pulse.context = node;
    node->service.pulse = &node->pulse;
    return cv_pulse_begin(&node->pulse, &node->member.loop);
}

static int serve(struct node *node)
{
    const struct cv_operations_settings *operations = &node->settings.operations;
    struct cv_complaint complaint;
    tune_memory();
    cv_log_open(operations->log_json, operations->level, node->settings.id);
    share_descriptors(&node->settings);
    take_priority(operations, node);
    cv_service_init(&node->service, &node->member, &node->settings);
    int error = cv_member_open(&node->member, &node->settings, &complaint);
    for (uint32_t i = 0; !error && i < node->settings.listen_count; i++)
        error = cv_service_listen(&node->service, "listen", node->settings.listen[i], &complaint);
    if (!error)
        error = cv_http_open(&node->http, &node->service, &node->settings, &complaint);
    if (!error)
        error = begin_pulse(node);
    if (!error) {
        node->member.loop.hangup = reload;
        node->member.loop.hangup_context = node;
        cv_loop_catch(&node->member.loop);
        if (needs_threads(&node->settings))
            cv_loop_start_threads(&node->member.loop);
        warn(node);
        say_ready(node);
        cv_loop_run(&node->member.loop);
        node->record.asked = cv_loop_now();
        cv_supervisor_tell("STOPPING=1");
        cv_log(CV_LOG_LEAVING, {"clients", .number = node->service.session_count},
               {"held", .number = node->service.statistics.held});
        if (*node->member.outside)
            cv_log_say(CV_LOG_REMOVED, "%s", node->member.outside);
    }
    cv_service_close(&node->service);
    cv_member_close(&node->member);
    cv_service_free(&node->service);
    if (!error && *node->member.outside)
        return EXIT_OUTSIDE;
    if (!error && node->member.failed)
        return EXIT_VIOLATED;
    return error ? command_fail(error, &complaint) : EXIT_HELD;
}

int command_node(int argc, char **argv)
{
    struct node *node = calloc(1, sizeof *node);
    const char *record = NULL;
    struct cv_complaint complaint;
    if (!node)
        return command_fail(CV_ENOMEM, NULL);
    node->argc = argc;
    node->argv = argv;
    int error = read_options(&node->settings, argc, argv, &record, &complaint);
    int code = error == HELP_TOLD ? -1 : error ? command_fail(error, &complaint) : EXIT_HELD;
    if (code == EXIT_HELD && record) {
        error = record_open(&node->record, record, &node->settings, &complaint);
        node->member.recorder = node->record.recorder;
        node->record.member = &node->member;
        code = error ? command_fail(error, &complaint) : EXIT_HELD;
    }
    if (code == EXIT_HELD)
        code = serve(node);
    record_close(&node->record);
    if (node->member.loop.lookups) { /* a thread that waits for a name server still uses the loop */
        fflush(NULL);
        _exit(code < 0 ? EXIT_HELD : code);
    }
    cv_settings_free(&node->settings);
    if (node->reread)
        cv_settings_free(node->reread);
    free(node->reread);
    free(node);
    return code < 0 ? EXIT_HELD : code;
}
