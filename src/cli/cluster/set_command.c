// SPDX-License-Identifier: MIT
/* `conclave set`: changes one of the terms of a running group, and waits until it is so. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "core/parse.h"
#include "group/terms.h"

#define ANSWER_MS 2000
#define POLL_NS 20000000L
#define PATIENCE_POLLS 500 /* 10 seconds */

static const char help[] =
    "usage: conclave set [OPTION...] group.KEY=VALUE\n\n"
    "Changes what a running group raft has agreed on, and waits until all members go by it. Nobody loses a lock by "
    "that.\n"
    "KEY is lease, drift, bound or voters, as in the section [group] of a configuration. From the first view on these\n"
    "are the group's: what a member's file says counts for founding a group.\n\n"
    "  --server ADDRESS   a member, or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)\n"
    "  --help             this page\n";

struct request {
    const char *servers;
    enum cv_term_key key;
    uint32_t value;
};

enum choice { SERVER = 256, HELP };

static const struct option options[] = {
    {"server", required_argument, NULL, SERVER}, {"help", no_argument, NULL, HELP}, {0}};

static int read_term(struct request *request, const char *word)
{
    struct cv_text target, value;
    char name[32];
    struct cv_complaint complaint;
    if (!cv_text_split(cv_text(word), '=', &target, &value) || target.length >= sizeof name ||
        strncmp(word, "group.", 6) != 0)
        return command_refuse("%s: expected group.KEY=VALUE, like group.lease=500", cv_brief(word).text);
    snprintf(name, sizeof name, "%.*s", (int)(target.length - 6), target.start + 6);
    request->key = cv_term_find(name);
    if (request->key == CV_TERMS)
        return command_refuse("%s: expected group.lease, group.drift, group.bound or group.voters",
                              cv_brief(word).text);
    if (cv_term_parse(request->key, value.start, &request->value, &complaint))
        return command_refuse("%s", complaint.text);
    return EXIT_HELD;
}

/* -1: help was asked for. */
static int read_options(struct request *request, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        switch (option) {
        case SERVER:
            request->servers = optarg;
            break;
        case HELP:
            fputs(help, stdout);
            return -1;
        default:
            return command_refuse("%s: %s; see conclave set --help", argv[optind - 1],
                                  option == ':' ? "expected a value" : "no such option");
        }
    }
    request->servers = ask_servers(request->servers);
    if (argc - optind != 1)
        return command_refuse("%s%sexpected one group.KEY=VALUE, like group.lease=500; see conclave set --help",
                              argc > optind ? cv_brief(argv[argc - 1]).text : "", argc > optind ? ": " : "");
    return read_term(request, argv[optind]);
}

/* What the node's view goes by: all members of it do, once it has begun. */
static int64_t present(struct ask *ask, const char *name)
{
    struct cv_text reply;
    return ask_command(ask, "TERMS", ANSWER_MS, &reply) ? ask_number(ask_value(reply, name)) : -1;
}

static int change(struct ask *ask, const struct request *request)
{
    char line[64], text[CV_TERM_BYTES];
    struct cv_text reply;
    const char *name = cv_term_name(request->key);
    cv_term_text(request->key, request->value, text);
    snprintf(line, sizeof line, "TERMS %s %s", name, text);
    if (!ask_command(ask, line, ANSWER_MS, &reply))
        return command_refuse("%s: the node does not answer", request->servers);
    if (reply.length && *reply.start == '-')
        return command_refuse("%.*s", (int)(reply.length - 3), reply.start + 1);
    for (int i = 0; i < PATIENCE_POLLS; i++) {
        if (present(ask, name) == (int64_t)request->value) {
            printf("%s is %s\n", name, text);
            return EXIT_HELD;
        }
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return command_refuse("it was asked for, but does not come to pass; see conclave doctor");
}

int command_set(int argc, char **argv)
{
    struct request request = {0};
    struct ask ask;
    int code = read_options(&request, argc, argv);
    if (code != EXIT_HELD)
        return code < 0 ? EXIT_HELD : code;
    if (!ask_open_any(&ask, request.servers, ANSWER_MS))
        return command_refuse("%s: no node answers", request.servers);
    code = change(&ask, &request);
    ask_close(&ask);
    return code;
}
