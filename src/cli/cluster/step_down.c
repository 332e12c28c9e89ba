// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/options.h"
#include "core/parse.h"

#define ANSWER_MS 2000
#define POLL_NS 10000000L
#define PATIENCE_POLLS 500 /* 5 seconds */

static const char help[] =
    "usage: conclave step-down [OPTION...]\n\n"
    "Has another node coordinate a group raft, and waits until it does. Nobody loses a lock by that.\n\n"
    "  --to ID            this node (the best of the others); it stays until it is gone or the next step-down\n"
    "  --server ADDRESS   a node, or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)\n"
    "  --help             this page\n";

struct request {
    const char *servers;
    uint64_t to;
    bool has_to;
};

enum choice { TO = 256, SERVER, HELP };

static const struct option options[] = {
    {"to", required_argument, NULL, TO},
    {"server", required_argument, NULL, SERVER},
    {"help", no_argument, NULL, HELP},
    {0},
};

/* -1: help was asked for. */
static int read_options(struct request *request, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        switch (option) {
        case TO:
            request->has_to = cv_parse_number(cv_text(optarg), UINT32_MAX, &request->to);
            if (!request->has_to)
                return command_refuse("--to %s: expected the id of a node", cv_brief(optarg).text);
            break;
        case SERVER:
            request->servers = optarg;
            break;
        case HELP:
            fputs(help, stdout);
            return -1;
        default:
            return command_refuse("%s: %s; see conclave step-down --help", argv[optind - 1],
                                  options_wrong(options, option, argv[optind - 1]).text);
        }
    }
    if (optind < argc)
        return command_refuse("%s: expected no argument; see conclave step-down --help", argv[optind]);
    request->servers = ask_servers(request->servers);
    return EXIT_HELD;
}

/* The coordinator's id; -1 while there is none. */
static int64_t coordinator(struct ask *ask)
{
    struct cv_text view;
    return ask_command(ask, "VIEW", ANSWER_MS, &view) ? ask_number(ask_value(view, "coordinator")) : -1;
}

static int step_down(struct ask *ask, const struct request *request)
{
    char line[64] = "STEPDOWN";
    struct cv_text reply;
    const int64_t before = coordinator(ask);
    if (request->has_to)
        snprintf(line, sizeof line, "STEPDOWN %llu", (unsigned long long)request->to);
    if (!ask_command(ask, line, ANSWER_MS, &reply))
        return command_refuse("%s: the node does not answer", request->servers);
    if (reply.length && *reply.start == '-')
        return command_refuse("%.*s", (int)(reply.length - 3), reply.start + 1);
    for (int i = 0; i < PATIENCE_POLLS; i++) {
        const int64_t now = coordinator(ask);
        if (now >= 0 && (request->has_to ? now == (int64_t)request->to : now != before)) {
            printf("node %lld coordinates\n", (long long)now);
            return EXIT_HELD;
        }
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return command_refuse("it was asked for, but does not come to pass; see conclave status");
}

int command_step_down(int argc, char **argv)
{
    struct request request = {0};
    struct ask ask;
    int code = read_options(&request, argc, argv);
    if (code != EXIT_HELD)
        return code < 0 ? EXIT_HELD : code;
    if (!ask_open_any(&ask, request.servers, ANSWER_MS))
        return command_refuse("%s: no node answers", request.servers);
    code = step_down(&ask, &request);
    ask_close(&ask);
    return code;
}
