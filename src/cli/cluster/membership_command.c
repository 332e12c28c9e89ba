// SPDX-License-Identifier: MIT
/* `conclave join`, `leave` and `replace`: change who belongs to a running group, and wait until it is so. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/options.h"
#include "core/parse.h"

#define ANSWER_MS 2000
#define POLL_NS 20000000L
#define PATIENCE_POLLS 500 /* 10 seconds */

static const char join_help[] =
    "usage: conclave join [OPTION...] ID=ADDRESS[,ADDRESS...]\n\n"
    "Adds a member to a running group raft, and waits until all agree on it. ADDRESS is where the other members reach\n"
    "it, one for each network. Then start it there, with `join = yes` in its configuration. Nobody loses a lock by "
    "that.\n\n"
    "  --client ADDRESS   where its clients reach it, for conclave status\n"
    "  --attribute N      what the election compares before the id (the id)\n"
    "  --standby          it shall never have a vote\n"
    "  --server ADDRESS   a member, or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)\n"
    "  --help             this page\n";

static const char leave_help[] =
    "usage: conclave leave [OPTION...] [ID]\n\n"
    "Takes a member out of a running group raft for good, dead or alive, and waits until all agree on it: this one, "
    "or\n"
    "the one that answers. Its process ends. What its clients hold is theirs until they are told that it is lost.\n\n"
    "  --server ADDRESS   a member, or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)\n"
    "  --help             this page\n";

static const char replace_help[] =
    "usage: conclave replace [OPTION...] ID\n\n"
    "Makes a machine whose directory is lost, or an old copy, a new member of a running group raft, under the same "
    "id:\n"
    "the old one leaves, a new one joins. Start the node there with an empty directory, before or after. What the old\n"
    "one had promised counts no more, so be sure that its directory does not come back.\n\n"
    "  --server ADDRESS   a member that serves, or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)\n"
    "  --help             this page\n";

struct request {
    const char *name, *help;
    const char *servers, *client;
    bool joins, replaces, standby, has_id;
    int64_t directory; /* that is replaced */
    uint64_t id, attribute;
    const char *address;
};

enum choice { CLIENT = 256, ATTRIBUTE, STANDBY, SERVER, HELP };

static const struct option join_options[] = {
    {"client", required_argument, NULL, CLIENT}, {"attribute", required_argument, NULL, ATTRIBUTE},
    {"standby", no_argument, NULL, STANDBY},     {"server", required_argument, NULL, SERVER},
    {"help", no_argument, NULL, HELP},           {0},
};

static const struct option leave_options[] = {
    {"server", required_argument, NULL, SERVER}, {"help", no_argument, NULL, HELP}, {0}};

static int read_member(struct request *request, const char *word)
{
    struct cv_text id, address;
    if (!request->joins) {
        request->has_id = cv_parse_number(cv_text(word), UINT32_MAX - 1, &request->id);
        return request->has_id ? EXIT_HELD : command_refuse("%s: expected the id of a member", cv_brief(word).text);
    }
    if (!cv_text_split(cv_text(word), '=', &id, &address) || !cv_parse_number(id, UINT32_MAX - 1, &request->id) ||
        !address.length || memchr(address.start, ' ', address.length))
        return command_refuse("%s: expected ID=ADDRESS, like 4=10.0.0.4:7800", cv_brief(word).text);
    request->address = address.start; /* to the end of the word */
    return EXIT_HELD;
}

/* -1: help was asked for. */
static int read_options(struct request *request, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    request->attribute = UINT64_MAX;
    for (int option;
         (option = getopt_long(argc, argv, ":", request->joins ? join_options : leave_options, NULL)) != -1;) {
        switch (option) {
        case CLIENT:
            request->client = optarg;
            break;
        case ATTRIBUTE:
            if (!cv_parse_number(cv_text(optarg), UINT32_MAX, &request->attribute))
                return command_refuse("--attribute %s: expected a number", cv_brief(optarg).text);
            break;
        case STANDBY:
            request->standby = true;
            break;
        case SERVER:
            request->servers = optarg;
            break;
        case HELP:
            fputs(request->help, stdout);
            return -1;
        default:
            return command_refuse(
                "%s: %s; see conclave %s --help", argv[optind - 1],
                options_wrong(request->joins ? join_options : leave_options, option, argv[optind - 1]).text,
                request->name);
        }
    }
    request->servers = ask_servers(request->servers);
    if (argc - optind > 1 || ((request->joins || request->replaces) && optind == argc))
        return command_refuse("expected %s; see conclave %s --help",
                              request->joins      ? "ID=ADDRESS"
                              : request->replaces ? "one ID"
                                                  : "one ID at most",
                              request->name);
    return optind < argc ? read_member(request, argv[optind]) : EXIT_HELD;
}

enum answer { NO, YES, NOT_YET, SILENCE };

/* Is it a member? All others know what the node knows if a view of it has begun. */
static enum answer is_member(struct ask *ask, uint64_t id, int64_t *directory)
{
    struct cv_text view, members, member;
    uint64_t left = UINT64_MAX;
    if (!ask_command(ask, "VIEW", ANSWER_MS, &view))
        return SILENCE;
    if (ask_number(ask_value(view, "coordinator")) < 0)
        return NOT_YET;
    members = ask_value(view, "members");
    while (ask_each(&members, &left, &member))
        if (ask_number(ask_value(member, "id")) == (int64_t)id) {
            *directory = ask_number(ask_value(member, "directory"));
            return YES;
        }
    return NO;
}

static int write_line(const struct request *request, char *line, size_t room)
{
    char attribute[32] = "";
    if (!request->joins)
        return snprintf(line, room, request->replaces ? "REPLACE %llu" : "LEAVE %llu", (unsigned long long)request->id);
    if (request->attribute != UINT64_MAX)
        snprintf(attribute, sizeof attribute, " ATTRIBUTE %llu", (unsigned long long)request->attribute);
    return snprintf(line, room, "JOIN %llu %s%s%s%s%s", (unsigned long long)request->id, request->address,
                    request->client ? " CLIENT " : "", request->client ? request->client : "", attribute,
                    request->standby ? " STANDBY" : "");
}

static int succeed(const struct request *request)
{
    if (request->replaces)
        printf("node %llu is replaced: start it with an empty directory, if it does not run yet\n",
               (unsigned long long)request->id);
    else
        printf("node %llu %s the group\n", (unsigned long long)request->id, request->joins ? "belongs to" : "has left");
    return EXIT_HELD;
}

static int change(struct ask *ask, struct request *request)
{
    char line[1024];
    struct cv_text reply;
    bool own = false;
    if (!ask_command(ask, "VIEW", ANSWER_MS, &reply))
        return command_refuse("%s: the node does not answer", request->servers);
    const int64_t answers = ask_number(ask_value(reply, "id"));
    if (!request->joins && !request->has_id)
        request->id = (uint64_t)answers;
    own = !request->joins && !request->replaces && (int64_t)request->id == answers;
    if ((size_t)write_line(request, line, sizeof line) >= sizeof line)
        return command_refuse("%s: too long an address", cv_brief(request->address).text);
    if (!ask_command(ask, line, ANSWER_MS, &reply))
        return command_refuse("%s: the node does not answer", request->servers);
    if (reply.length && *reply.start == '-')
        return command_refuse("%.*s", (int)(reply.length - 3), reply.start + 1);
    request->directory = request->replaces ? ask_number(reply) : -1;
    for (int i = 0; i < PATIENCE_POLLS; i++) {
        int64_t directory = 0;
        const enum answer member = is_member(ask, request->id, &directory);
        const bool done = request->replaces ? member == YES && directory != request->directory
                                            : member == (request->joins ? YES : NO);
        if (done || (member == SILENCE && own)) /* a node that has left ends */
            return succeed(request);
        if (member == SILENCE)
            break;
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return command_refuse("it was asked for, but does not come to pass; see conclave status");
}

static int run(struct request *request, int argc, char **argv)
{
    struct ask ask;
    int code = read_options(request, argc, argv);
    if (code != EXIT_HELD)
        return code < 0 ? EXIT_HELD : code;
    if (!ask_open_any(&ask, request->servers, ANSWER_MS))
        return command_refuse("%s: no node answers", request->servers);
    code = change(&ask, request);
    ask_close(&ask);
    return code;
}

int command_join(int argc, char **argv)
{
    struct request request = {.name = "join", .help = join_help, .joins = true};
    return run(&request, argc, argv);
}

int command_leave(int argc, char **argv)
{
    struct request request = {.name = "leave", .help = leave_help};
    return run(&request, argc, argv);
}

int command_replace(int argc, char **argv)
{
    struct request request = {.name = "replace", .help = replace_help, .replaces = true};
    return run(&request, argc, argv);
}
