// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "core/parse.h"

#define ANSWER_MS 2000
#define POLL_NS 10000000L
#define PATIENCE_POLLS 500 /* 5 seconds */

struct request {
    const char *servers;
    uint64_t to;
    bool has_to;
};

static int take_to(void *context, const char *value, struct cv_complaint *complaint)
{
    struct request *request = context;
    request->has_to = cv_parse_number(cv_text(value), UINT32_MAX, &request->to);
    return request->has_to ? 0 : cv_complain(complaint, "--to %s: expected the id of a node", cv_brief(value).text);
}

static const struct option_row rows[] = {
    {"to", "ID", OPTION_TAKE, 0,
     .help = "the new coordinator (the best of the others); it stays until it dies or the next step-down",
     .take = take_to},
    ASK_ADDRESS_ROW(struct request, servers, "a node"),
    {0},
};

const struct options step_down_options = {
    .name = "step-down",
    .usage = "[OPTION...]",
    .about = "Makes another node the coordinator of a group raft, and waits until it is. No client loses a "
             "lock.",
    .rows = rows,
    .no_words = true,
    .lenient = true,
};

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
    if (ask_order(ask, request->servers, line, ANSWER_MS, &reply))
        return EXIT_UNKNOWN;
    for (int i = 0; i < PATIENCE_POLLS; i++) {
        const int64_t now = coordinator(ask);
        if (now >= 0 && (request->has_to ? now == (int64_t)request->to : now != before)) {
            printf("node %lld coordinates\n", (long long)now);
            return EXIT_HELD;
        }
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
    }
    return command_refuse("it was asked for, but has not happened yet; see conclave status");
}

int command_step_down(int argc, char **argv)
{
    struct request request = {0};
    struct ask ask;
    int code;
    if (!options_take(&step_down_options, argc, argv, &request, &code))
        return code;
    request.servers = ask_servers(request.servers);
    if (!ask_open_any(&ask, request.servers, ANSWER_MS))
        return ask_refuse_none(&ask, request.servers);
    code = step_down(&ask, &request);
    ask_close(&ask);
    return code;
}
