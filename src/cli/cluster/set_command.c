// SPDX-License-Identifier: MIT
/* `conclave set`: changes one of the terms of a running group, and waits until the group has agreed. */
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

struct request {
    const char *servers;
    enum cv_term_key key;
    uint32_t value;
};

static const struct option_row rows[] = {
    ASK_ADDRESS_ROW(struct request, servers, "a member"),
    {0},
};

const struct options set_options = {
    .name = "set",
    .usage = "[OPTION...] group.KEY=VALUE",
    .about = "Changes what a running group raft has agreed on, and waits until all members use it. No "
             "client loses a lock. KEY is lease, drift, bound or voters, as in the section [group] of a "
             "configuration. A member's file sets these only when a group is founded; later they belong to "
             "the group.",
    .rows = rows,
    .lenient = true,
};

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

/* False: the command ends with *code. */
static bool read_options(struct request *request, int argc, char **argv, int *code)
{
    const int next = options_take(&set_options, argc, argv, request, code);
    if (!next)
        return false;
    request->servers = ask_servers(request->servers);
    if (argc - next == 1)
        *code = read_term(request, argv[next]);
    else
        *code = command_refuse("%s%sexpected one group.KEY=VALUE, like group.lease=500; see conclave set --help",
                               argc > next ? cv_brief(argv[argc - 1]).text : "", argc > next ? ": " : "");
    return *code == EXIT_HELD;
}

/* The term in the node's view. All members of a view have the same terms. */
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
    if (ask_order(ask, request->servers, line, ANSWER_MS, &reply))
        return EXIT_UNKNOWN;
    for (int i = 0; i < PATIENCE_POLLS; i++) {
        if (present(ask, name) == (int64_t)request->value) {
            printf("%s is %s\n", name, text);
            return EXIT_HELD;
        }
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return command_refuse("it was asked for, but has not happened yet; see conclave doctor");
}

int command_set(int argc, char **argv)
{
    struct request request = {0};
    struct ask ask;
    int code;
    if (!read_options(&request, argc, argv, &code))
        return code;
    if (!ask_open_any(&ask, request.servers, ANSWER_MS))
        return ask_refuse_none(&ask, request.servers);
    code = change(&ask, &request);
    ask_close(&ask);
    return code;
}
