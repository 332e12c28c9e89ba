// SPDX-License-Identifier: MIT
/* `conclave elect`: a command runs while this process leads; or somebody watches who does. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/hold/hold.h"
#include "core/parse.h"
#include "show/json.h"

static const char usage[] =
    "usage: conclave elect NAME [OPTION...] -- COMMAND [ARGUMENT...]\n"
    "       conclave elect --observe NAME [--json] [--server LIST]\n\n"
    "Stands for the election NAME and runs COMMAND while this process leads; or prints who leads, and every change.\n\n"
    "  --priority P     the highest of the candidates is preferred (0)\n"
    "  --wait T         give up after this time (wait for as long as it takes)\n"
    "  --ttl T          the leadership lasts so long without a server, as it is renewed all the time; 0: it ends with\n"
    "                   the session, and with the server (10s)\n"
    "  --observe        print a line for the leader of now and one for every later leader\n"
    "  --json           as JSON, a line each\n" HOLD_SERVER_HELP "  --help           this page\n\n"
    "T is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
    "COMMAND and the exit codes are as with conclave lock: 122 means that this process no longer led.\n";

static const struct option options[] = {
    {"priority", required_argument, NULL, HOLD_PRIORITY},
    {"wait", required_argument, NULL, HOLD_WAIT},
    {"ttl", required_argument, NULL, HOLD_TTL},
    {"observe", no_argument, NULL, HOLD_OBSERVE},
    {"json", no_argument, NULL, HOLD_JSON},
    HOLD_SERVER_OPTIONS,
    {"help", no_argument, NULL, HOLD_HELP},
    {0},
};

static bool show(const struct hold *hold, const char *leader, uint64_t fence)
{
    if (hold->json) {
        struct cv_json json = {.out = stdout};
        cv_json_open(&json, NULL, '{');
        cv_json_text(&json, "name", hold->name);
        cv_json_text(&json, "leader", *leader ? leader : NULL);
        cv_json_count(&json, "fence", fence);
        cv_json_close(&json, '}');
        putchar('\n');
    } else if (*leader) {
        printf("%s leads (fence %llu)\n", cv_brief(leader).text, (unsigned long long)fence);
    } else {
        puts("nobody leads");
    }
    return fflush(stdout) == 0;
}

/* Until a signal ends it: there is nothing to tidy up. */
static int observe(const struct hold *hold)
{
    struct conclave *session;
    struct conclave_leader leader;
    struct conclave_event event;
    int code = hold_open(&session, hold);
    int error = code ? 0 : conclave_observe(session, hold->name, &leader);
    if (error)
        code = hold_explain(session, cv_brief(hold->name).text, error);
    bool shown = !code && show(hold, leader.leader, leader.fence);
    while (shown && !error) {
        const int result = conclave_next_event(session, &event, -1);
        if (result == 1 && event.kind == CONCLAVE_EVENT_LEADER)
            shown = show(hold, event.leader, event.fence);
        else if (result < 0)
            error = result;
    }
    if (error && !code)
        code = hold_explain(session, cv_brief(hold->name).text, error);
    conclave_close(session);
    if (!shown && !code)
        command_refuse("standard output: %s", strerror(errno));
    return code ? code : HOLD_TROUBLE;
}

int command_elect(int argc, char **argv)
{
    struct hold hold = {.campaign = true};
    const int code = hold_read_options(argc, argv, options, usage, &hold);
    if (code >= 0)
        return code;
    if (hold.observe && !hold.command)
        return observe(&hold);
    if (!hold.observe && !hold.json && hold.command)
        return hold_run(&hold);
    command_refuse("elect %s: expected -- and a COMMAND, or --observe without one; see conclave elect --help",
                   cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
