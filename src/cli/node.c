// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/record.h"
#include "live/settings.h"
#include "service/service.h"

static const char help[] =
    "usage: conclave node [OPTION...]\n\n"
    "Serves locks and elections to clients that speak RESP, the protocol of Redis: alone, or as a member of the group\n"
    "that the configuration names. Runs until INT or TERM; HUP reads keys, certificates and ACLs again.\n\n"
    "  --config FILE           the configuration; see conclave-node(1)\n"
    "  --listen ADDRESS        for clients: host:port or the path of a Unix socket; may be repeated\n"
    "                          (127.0.0.1:7700)\n"
    "  --set SECTION.KEY=VALUE one setting, as if it stood in the configuration; may be repeated\n"
    "  --record FILE           writes down what happens, for conclave judge\n"
    "  --help                  this page\n";

struct node {
    struct cv_settings settings;
    struct cv_settings *reread; /* what the last HUP found; NULL: none has come */
    int argc;
    char **argv;
    struct cv_member member;
    struct cv_service service;
    struct record record;
};

static int set_option(struct cv_settings *settings, const char *text, struct cv_complaint *complaint)
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
    return cv_settings_set(settings, names[0], names[1], names[2], cv_algorithm_find, complaint);
}

enum choice { CONFIG = 256, LISTEN, SET, RECORD, HELP };

static const struct option options[] = {
    {"config", required_argument, NULL, CONFIG}, {"listen", required_argument, NULL, LISTEN},
    {"set", required_argument, NULL, SET},       {"record", required_argument, NULL, RECORD},
    {"help", no_argument, NULL, HELP},           {0},
};

/* EXIT_HELD to go on, anything else to end with; -1: with 0. */
static int read_options(struct cv_settings *settings, int argc, char **argv, const char **record)
{
    struct cv_complaint complaint;
    int error = 0;
    cv_settings_init(settings, cv_algorithm_find);
    optind = 1;
    opterr = 0;
    for (int option; !error && (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        switch (option) {
        case CONFIG:
            error = cv_settings_read(settings, optarg, cv_algorithm_find, &complaint);
            break;
        case LISTEN:
            error = cv_settings_set(settings, "node", "listen", optarg, cv_algorithm_find, &complaint);
            break;
        case SET:
            error = set_option(settings, optarg, &complaint);
            break;
        case RECORD:
            *record = optarg;
            break;
        case HELP:
            fputs(help, stdout);
            return -1;
        default:
            return command_refuse("%s: %s; see conclave node --help", argv[optind - 1],
                                  option == ':' ? "expected a value" : "no such option");
        }
    }
    if (!error && optind < argc)
        return command_refuse("%s: expected no argument; see conclave node --help", argv[optind]);
    if (!error)
        error = cv_settings_finish(settings, cv_algorithm_find, &complaint);
    return error ? command_fail(error, &complaint) : EXIT_HELD;
}

/* A connection each for as many clients as the system allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void say_ready(const struct node *node)
{
    const struct cv_settings *settings = &node->settings;
    printf("node %u ready, clients at", settings->id);
    for (uint32_t i = 0; i < settings->listen_count; i++)
        printf("%s %s", i ? "," : "", settings->listen[i]);
    printf("\n");
    fflush(stdout);
}

/* What goes over the network without TLS can be read and changed by others: said once, and loudly. */
static void warn(const struct node *node)
{
    const struct cv_peers *peers = &node->member.peers;
    for (uint32_t i = 0; i < node->service.listener_count; i++)
        if (node->service.listeners[i].exposed)
            fprintf(stderr, "conclave: warning: clients at %s are neither encrypted nor authenticated\n",
                    node->settings.listen[i]);
    bool exposed = false;
    for (uint32_t i = 0; i < peers->listener_count; i++)
        exposed |= peers->listeners[i].exposed;
    if (exposed)
        fprintf(stderr, "conclave: warning: members at %s are neither encrypted nor authenticated\n",
                node->settings.peers);
}

/* HUP: keys, certificates and ACLs are read again, as the process was started. The rest needs a restart. */
static void reload(void *context)
{
    struct node *node = context;
    struct cv_settings *fresh = calloc(1, sizeof *fresh);
    struct cv_complaint complaint;
    const char *record;
    if (!fresh)
        return;
    int error = read_options(fresh, node->argc, node->argv, &record) == EXIT_HELD ? 0 : CV_EINTERRUPTED;
    if (!error)
        error = cv_security_reload(&node->member.security, &fresh->security, &complaint);
    if (error) {
        if (error != CV_EINTERRUPTED)
            command_fail(error, &complaint);
        fputs("conclave: HUP: everything stays as it was\n", stderr);
        cv_settings_free(fresh);
        free(fresh);
        return;
    }
    cv_service_reconsider(&node->service);
    if (node->reread)
        cv_settings_free(node->reread);
    free(node->reread);
    node->reread = fresh;
}

static int serve(struct node *node)
{
    struct cv_complaint complaint;
    raise_file_limit();
    cv_service_init(&node->service, &node->member, &node->settings);
    int error = cv_member_open(&node->member, &node->settings, &complaint);
    for (uint32_t i = 0; !error && i < node->settings.listen_count; i++)
        error = cv_service_listen(&node->service, "listen", node->settings.listen[i], &complaint);
    if (!error) {
        node->member.loop.hangup = reload;
        node->member.loop.hangup_context = node;
        cv_loop_catch(&node->member.loop);
        warn(node);
        say_ready(node);
        cv_loop_run(&node->member.loop);
        node->record.asked = cv_loop_now();
    }
    cv_service_close(&node->service);
    cv_member_close(&node->member);
    cv_service_free(&node->service);
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
    int code = read_options(&node->settings, argc, argv, &record);
    if (code == EXIT_HELD && record) {
        const int error = record_open(&node->record, record, &node->settings, &complaint);
        node->member.recorder = node->record.recorder;
        code = error ? command_fail(error, &complaint) : EXIT_HELD;
    }
    if (code == EXIT_HELD)
        code = serve(node);
    record_close(&node->record);
    cv_settings_free(&node->settings);
    if (node->reread)
        cv_settings_free(node->reread);
    free(node->reread);
    free(node);
    return code < 0 ? EXIT_HELD : code;
}
