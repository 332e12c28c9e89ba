// SPDX-License-Identifier: MIT
/*
 * `conclave join`, `leave` and `replace`: change the members of a running group, and wait until the group has agreed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "core/parse.h"

#define ANSWER_MS 2000
#define POLL_NS 20000000L
#define PATIENCE_POLLS 500 /* 10 seconds */

struct request {
    const struct options *options;
    const char *servers, *client;
    bool joins, replaces, standby, has_id;
    int64_t directory; /* the directory that is replaced */
    uint64_t id, attribute;
    const char *address;
};

#define FIELD(member) offsetof(struct request, member)

static const struct option_row join_rows[] = {
    {"client", "ADDRESS", OPTION_TEXT, FIELD(client), .help = "where its clients reach it, for conclave status"},
    {"attribute", "N", OPTION_NUMBER, FIELD(attribute),
     .help = "the attribute that the election compares before the id (the id)", .most = UINT32_MAX},
    {"standby", NULL, OPTION_SWITCH, FIELD(standby), .help = "the member never gets a vote"},
    ASK_ADDRESS_ROW(struct request, servers, "a member"),
    {0},
};

static const struct option_row server_rows[] = {
    ASK_ADDRESS_ROW(struct request, servers, "a member that serves"),
    {0},
};

const struct options join_options = {
    .name = "join",
    .usage = "[OPTION...] ID=ADDRESS[,ADDRESS...]",
    .about = "Adds a member to a running group raft, and waits until all members agree. ADDRESS is where "
             "the other members reach it, one for each network. Then start the node there, with `join = "
             "yes` in its configuration. No client loses a lock.",
    .rows = join_rows,
    .lenient = true,
};

const struct options leave_options = {
    .name = "leave",
    .usage = "[OPTION...] [ID]",
    .about = "Removes a member from a running group raft, dead or alive, and waits until all members "
             "agree. Without ID it removes the member that answers. Its process ends. Its clients hold "
             "their locks until they are told that these are lost.",
    .rows = server_rows,
    .lenient = true,
};

const struct options replace_options = {
    .name = "replace",
    .usage = "[OPTION...] ID",
    .about = "Makes a machine whose directory is lost, or an old copy, a new member of a running group "
             "raft, under the same id: the old member leaves, a new one joins. Start the node with an "
             "empty directory, before or after. The old member's promises no longer count, so make sure "
             "that its directory does not come back.",
    .rows = server_rows,
    .lenient = true,
};

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

/* False: the command ends with *code. */
static bool read_options(struct request *request, int argc, char **argv, int *code)
{
    const char *name = request->options->name;
    request->attribute = UINT64_MAX;
    const int next = options_take(request->options, argc, argv, request, code);
    if (!next)
        return false;
    request->servers = ask_servers(request->servers);
    if (argc - next > 1 || ((request->joins || request->replaces) && next == argc))
        *code = command_refuse("expected %s; see conclave %s --help",
                               request->joins      ? "ID=ADDRESS"
                               : request->replaces ? "one ID"
                                                   : "one ID at most",
                               name);
    else
        *code = next < argc ? read_member(request, argv[next]) : EXIT_HELD;
    return *code == EXIT_HELD;
}

enum answer { NO, YES, NOT_YET, SILENCE };

/* Is that node a member? Once a view has begun, all its members know the same. */
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
        return command_refuse("%s: expected a shorter address", cv_brief(request->address).text);
    if (ask_order(ask, request->servers, line, ANSWER_MS, &reply))
        return EXIT_UNKNOWN;
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
    return command_refuse("it was asked for, but has not happened yet; see conclave status");
}

static int run(struct request *request, int argc, char **argv)
{
    struct ask ask;
    int code;
    if (!read_options(request, argc, argv, &code))
        return code;
    if (!ask_open_any(&ask, request->servers, ANSWER_MS))
        return ask_refuse_none(&ask, request->servers);
    code = change(&ask, request);
    ask_close(&ask);
    return code;
}

int command_join(int argc, char **argv)
{
    struct request request = {.options = &join_options, .joins = true};
    return run(&request, argc, argv);
}

int command_leave(int argc, char **argv)
{
    struct request request = {.options = &leave_options};
    return run(&request, argc, argv);
}

int command_replace(int argc, char **argv)
{
    struct request request = {.options = &replace_options, .replaces = true};
    return run(&request, argc, argv);
}
